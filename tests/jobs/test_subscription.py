"""Which updates the subscriber of a job receives, and how often."""

import asyncio
import itertools
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from junto.jobs import subscription as subscription_module
from junto.jobs.subscription import JobSubscription
from tests.event_loop import yield_to_tasks


async def collect_updates(subscription: JobSubscription) -> list[Any]:
    return [message async for message in subscription.stream_updates()]


async def test_the_first_text_is_sent_at_once() -> None:
    subscription = JobSubscription()
    updates = subscription.stream_updates()

    subscription.on_text("a")

    assert await anext(updates) == "a"


async def test_text_between_updates_is_batched_and_the_rest_sent_at_the_end() -> None:
    subscription = JobSubscription()
    listener = asyncio.create_task(collect_updates(subscription))
    await yield_to_tasks()
    for number in range(1000):
        subscription.on_text(f"{number} ")
        if number % 100 == 0:
            await yield_to_tasks()  # lets the listener run
    subscription.on_end()

    messages = await listener

    assert "".join(messages) == "".join(f"{number} " for number in range(1000))
    assert len(messages) < 5


async def test_updates_are_sent_at_most_twenty_times_a_second() -> None:
    subscription = JobSubscription()
    update_times: list[float] = []

    subscription.on_text("x")
    async for _ in subscription.stream_updates():
        update_times.append(time.monotonic())
        if len(update_times) == 8:
            subscription.on_end()
        else:
            subscription.on_text("x")  # from a fast model: there is always more text

    # Clocks are a little coarse.
    pauses = [later - earlier for earlier, later in itertools.pairwise(update_times)]
    assert min(pauses) > subscription_module.MIN_UPDATE_INTERVAL_SECONDS * 0.9


async def test_a_heartbeat_is_sent_within_five_seconds() -> None:
    assert JobSubscription().heartbeat_seconds < 5
    subscription = JobSubscription(heartbeat_seconds=0.01)
    updates = subscription.stream_updates()

    assert str(await anext(updates)).startswith("still working (")
    subscription.on_status("waiting for the model")
    assert await anext(updates) == "waiting for the model …"
    assert str(await anext(updates)).startswith("waiting for the model (")


async def test_only_the_latest_status_is_sent() -> None:
    subscription = JobSubscription()
    subscription.on_status("one")
    subscription.on_status("two")

    assert await anext(subscription.stream_updates()) == "two …"


async def test_the_end_does_not_wait_for_the_update_interval() -> None:
    subscription = JobSubscription(
        now=lambda: 0.0
    )  # a stopped clock: the update interval would never pass
    listener = asyncio.create_task(collect_updates(subscription))
    subscription.on_text("a")
    await yield_to_tasks()
    subscription.on_text("b")
    subscription.on_end()

    async with asyncio.timeout(5):
        assert "".join(await listener) == "ab"


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans()), max_size=40))
def test_no_text_is_lost_whatever_the_timing(pieces: list[tuple[str, bool]]) -> None:
    async def run() -> None:
        subscription = JobSubscription()
        listener = asyncio.create_task(collect_updates(subscription))
        for text, yields in pieces:
            subscription.on_text(text)
            if yields:
                await yield_to_tasks()
        subscription.on_end()

        assert "".join(await listener) == "".join(text for text, _ in pieces)

    asyncio.run(run())


async def test_messages_are_sent_whole_and_in_order() -> None:
    subscription = JobSubscription()
    subscription.on_message({"n": 1})
    subscription.on_status("doing")
    subscription.on_message({"n": 2})
    subscription.on_end()

    assert (await collect_updates(subscription))[:2] == [{"n": 1}, {"n": 2}]
