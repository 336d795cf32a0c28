import asyncio
from contextlib import AsyncExitStack

import pytest

from junto.agent.run_queue import RunQueue
from junto.domain.errors import CapacityExceededError
from tests.event_loop import yield_to_tasks


async def test_waiting_runs_are_notified_of_their_position() -> None:
    queue, positions = RunQueue(1, 10), dict[str, list[int]]()
    order = list[str]()

    async def run(name: str) -> None:
        async with queue.acquire_slot(positions.setdefault(name, []).append):
            order.append(name)
            await yield_to_tasks()  # lets the others join the queue

    await asyncio.gather(*(run(name) for name in "abcd"))

    assert order == ["a", "b", "c", "d"]
    assert positions == {"a": [], "b": [1], "c": [2, 1], "d": [3, 2, 1]}
    assert queue.free_slots == 1


@pytest.mark.feature("F145")
async def test_a_full_queue_rejects_further_runs() -> None:
    queue = RunQueue(1, 0)
    async with queue.acquire_slot(lambda _: None):
        with pytest.raises(CapacityExceededError, match="waiting"):
            async with queue.acquire_slot(lambda _: None):
                pass


async def test_a_cancelled_waiter_leaves_the_queue_without_taking_a_slot() -> None:
    queue, positions = RunQueue(1, 10), list[int]()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(queue.acquire_slot(lambda _: None))

        async def wait() -> None:
            async with queue.acquire_slot(positions.append):
                pass

        first, second = asyncio.create_task(wait()), asyncio.create_task(wait())
        await yield_to_tasks()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert positions == [1, 2, 1]
    await second

    assert queue.free_slots == 1


async def test_a_slot_granted_to_a_cancelled_waiter_goes_to_the_next() -> None:
    queue = RunQueue(1, 10)
    stack = AsyncExitStack()
    await stack.enter_async_context(queue.acquire_slot(lambda _: None))

    async def wait() -> str:
        async with queue.acquire_slot(lambda _: None):
            return "served"

    first, second = asyncio.create_task(wait()), asyncio.create_task(wait())
    await yield_to_tasks()
    await stack.aclose()  # grants the slot to the first
    first.cancel()

    assert await second == "served"
    assert queue.free_slots == 1
