import asyncio
from contextlib import AsyncExitStack

import pytest

from junto.agent.places import Places
from junto.domain.errors import NoRoomError


async def test_whoever_waits_knows_how_many_are_before() -> None:
    places, told = Places(1, 10), dict[str, list[int]]()
    order = list[str]()

    async def one(name: str) -> None:
        async with places.taken(told.setdefault(name, []).append):
            order.append(name)
            await asyncio.sleep(0)  # lets the others in front of the door

    await asyncio.gather(*(one(name) for name in "abcd"))

    assert order == ["a", "b", "c", "d"]
    assert told == {"a": [], "b": [1], "c": [2, 1], "d": [3, 2, 1]}
    assert places.free == 1


@pytest.mark.feature("F145")
async def test_too_many_are_sent_away() -> None:
    places = Places(1, 0)
    async with places.taken(lambda _: None):
        with pytest.raises(NoRoomError, match="waiting"):
            async with places.taken(lambda _: None):
                pass


async def test_whoever_gives_up_leaves_the_queue_and_takes_no_place() -> None:
    places, told = Places(1, 10), list[int]()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(places.taken(lambda _: None))

        async def wait() -> None:
            async with places.taken(told.append):
                pass

        first, second = asyncio.create_task(wait()), asyncio.create_task(wait())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert told == [1, 2, 1]
    await second

    assert places.free == 1


async def test_a_place_that_comes_too_late_goes_to_the_next() -> None:
    places = Places(1, 10)
    stack = AsyncExitStack()
    await stack.enter_async_context(places.taken(lambda _: None))

    async def wait() -> str:
        async with places.taken(lambda _: None):
            return "served"

    first, second = asyncio.create_task(wait()), asyncio.create_task(wait())
    await asyncio.sleep(0)
    await stack.aclose()  # the first has it from now on
    first.cancel()

    assert await second == "served"
    assert places.free == 1
