"""What whoever watches a job is told, and how often."""

import asyncio
import itertools
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.jobs import watching
from junto.jobs.watching import Watch


async def heard(watch: Watch) -> list[Any]:
    return [message async for message in watch.news()]


async def test_the_first_words_go_out_at_once() -> None:
    watch = Watch()
    news = watch.news()

    watch.says("a")

    assert await anext(news) == "a"


async def test_words_between_two_messages_go_out_together_and_the_last_with_the_end() -> None:
    watch = Watch()
    listening = asyncio.create_task(heard(watch))
    await asyncio.sleep(0)
    for number in range(1000):
        watch.says(f"{number} ")
        if number % 100 == 0:
            await asyncio.sleep(0)  # lets the listener have a look
    watch.ends()

    messages = await listening

    assert "".join(messages) == "".join(f"{number} " for number in range(1000))
    assert len(messages) < 5


async def test_nobody_is_told_more_than_twenty_times_a_second() -> None:
    watch = Watch()
    told: list[float] = []

    async def listen() -> None:
        async for _ in watch.news():
            told.append(time.monotonic())  # noqa: PERF401 - the time at which it is told counts

    listening = asyncio.create_task(listen())
    while len(told) < 8:
        watch.says("x")
        await asyncio.sleep(0.002)  # a fast model
    watch.ends()
    await listening

    # The last words go out with the end, however short the pause; clocks are a little coarse.
    pauses = [later - earlier for earlier, later in itertools.pairwise(told[:8])]
    assert min(pauses) > watching.PAUSE * 0.9


async def test_silence_is_broken_before_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watching.BEAT < 5
    monkeypatch.setattr(watching, "BEAT", 0.01)
    watch = Watch()
    news = watch.news()

    assert str(await anext(news)).startswith("still working (")
    watch.notes("waiting for the model")
    assert await anext(news) == "waiting for the model …"
    assert str(await anext(news)).startswith("waiting for the model (")


async def test_of_several_notes_the_last_is_told() -> None:
    watch = Watch()
    watch.notes("one")
    watch.notes("two")

    assert await anext(watch.news()) == "two …"


async def test_an_end_is_not_kept_waiting_by_a_pause() -> None:
    watch = Watch(now=lambda: 0.0)  # a clock that stands still: every pause would last for ever
    listening = asyncio.create_task(heard(watch))
    watch.says("a")
    await asyncio.sleep(0)
    watch.says("b")
    watch.ends()

    async with asyncio.timeout(5):
        assert "".join(await listening) == "ab"


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans()), max_size=40))
def test_no_word_is_lost_however_they_fall(pieces: list[tuple[str, bool]]) -> None:
    async def run() -> None:
        watch = Watch()
        listening = asyncio.create_task(heard(watch))
        for words, yields in pieces:
            watch.says(words)
            if yields:
                await asyncio.sleep(0)
        watch.ends()

        assert "".join(await listening) == "".join(words for words, _ in pieces)

    asyncio.run(run())


async def test_what_is_whole_is_told_whole_and_in_order() -> None:
    watch = Watch()
    watch.tells({"n": 1})
    watch.notes("doing")
    watch.tells({"n": 2})
    watch.ends()

    assert (await heard(watch))[:2] == [{"n": 1}, {"n": 2}]
