import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from junto.domain.errors import NetworkError
from junto.domain.messages import Message, Thinking, ToolCall
from junto.domain.prices import Price
from junto.domain.questions import (
    Event,
    Finished,
    Question,
    TextDelta,
    ThinkingDelta,
    ToolCallMade,
    counted,
)
from junto.domain.usage import Dimension, Origin
from junto.providers.pipeline.cache import Cached, LocalCache, cache_key
from junto.providers.pipeline.measure import Counters, Measured
from junto.providers.provider import Provider, ask
from junto.storage.lazily import Lazily
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.usage import SqliteUsage
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage import UsageBook
from tests.providers.scripted import OK, QUESTION, Clock, Scripted, finished

OTHER = replace(QUESTION, max_tokens=11)


@pytest.mark.feature("F190", "F191")
async def test_the_same_question_is_asked_once_within_its_time() -> None:
    clock, scripted = Clock(), Scripted([OK])
    cached = Cached(scripted, LocalCache(seconds=300, now=clock.now), "m")

    first = await ask(cached, QUESTION)
    again = await ask(cached, QUESTION)
    other = await ask(cached, OTHER)
    clock.time += 301
    later = await ask(cached, QUESTION)

    assert first == again == other == later
    assert len(scripted.asked) == 3


async def test_only_so_many_answers_are_kept_and_the_oldest_goes_first() -> None:
    scripted = Scripted([OK])
    cached = Cached(scripted, LocalCache(most=2), "m")
    questions = [replace(QUESTION, max_tokens=n) for n in (1, 2, 3)]

    await ask(cached, questions[0])
    await ask(cached, questions[1])
    await ask(cached, questions[0])  # asked for again, so it stays
    await ask(cached, questions[2])
    await ask(cached, questions[0])
    assert len(scripted.asked) == 3
    await ask(cached, questions[1])
    assert len(scripted.asked) == 4


async def test_an_answer_from_the_cache_comes_in_the_same_pieces() -> None:
    call = ToolCall("c", "f", {})
    message = Message.assistant(Thinking("hm"), "Yes.", call)
    whole = finished()
    whole = Finished(replace(whole.answer, message=message))
    cached = Cached(Scripted([(whole,)]), LocalCache(), "m")
    await ask(cached, QUESTION)

    events = [event async for event in cached.stream(QUESTION)]

    assert events == [ThinkingDelta("hm"), TextDelta("Yes."), ToolCallMade(call), whole]


async def test_a_failure_is_not_kept() -> None:
    scripted = Scripted([(NetworkError("down"),), OK])
    cached = Cached(scripted, LocalCache(), "m")

    with pytest.raises(NetworkError):
        await ask(cached, QUESTION)

    assert (await ask(cached, QUESTION)).message.text == "ok"


class Slow(Provider):
    """Says one word, then waits to be let go on."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = asyncio.Event()
        self.stopped = asyncio.Event()

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        self.asked += 1
        try:
            yield TextDelta("o")
            await self.go.wait()
            yield TextDelta("k")
            yield finished()
        finally:
            self.stopped.set()


async def test_two_hundred_who_ask_the_same_at_once_ask_once_and_all_hear_everything() -> None:
    slow = Slow()
    cached = Cached(slow, LocalCache(), "m")

    async def heard() -> list[Event]:
        return [event async for event in cached.stream(QUESTION)]

    listening = [asyncio.create_task(heard()) for _ in range(200)]
    await asyncio.sleep(0)
    slow.go.set()
    answers = await asyncio.gather(*listening)

    assert slow.asked == 1
    assert all(events == [TextDelta("o"), TextDelta("k"), finished()] for events in answers)


async def test_one_who_leaves_stops_nobody_else_and_the_last_stops_the_work() -> None:
    slow = Slow()
    cached = Cached(slow, LocalCache(), "m")

    async with aclosing(cached.stream(QUESTION)) as first:
        assert await anext(first) == TextDelta("o")
        async with aclosing(cached.stream(QUESTION)) as second:
            assert await anext(second) == TextDelta("o")
        assert not slow.stopped.is_set()

    await asyncio.wait_for(slow.stopped.wait(), 10)
    slow.go.set()
    assert (await ask(cached, QUESTION)).message.text == "ok"
    assert slow.asked == 2


async def test_all_who_listen_hear_of_a_failure() -> None:
    scripted = Scripted([(TextDelta("o"), NetworkError("down"))])
    cached = Cached(scripted, LocalCache(), "m")

    outcomes = await asyncio.gather(
        *(ask(cached, QUESTION) for _ in range(5)), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [NetworkError] * 5
    assert len(scripted.asked) == 1


texts = st.text(max_size=10)


@given(texts, texts, texts, texts)
def test_different_questions_never_share_a_key(a: str, b: str, c: str, d: str) -> None:
    one = Question(model="m", messages=(Message.user(a), Message.assistant(b)))
    two = Question(model="m", messages=(Message.user(c), Message.assistant(d)))

    assert (cache_key("m", one) == cache_key("m", two)) == ((a, b) == (c, d))
    assert cache_key("m", one) != cache_key("n", one)
    assert cache_key("m", replace(one, origin=Origin("you", "query"))) == cache_key("m", one)


@pytest.mark.feature("F192", "F193", "F194", "F195", "F196", "F197")
async def test_answers_tokens_time_and_failures_are_counted() -> None:
    metrics = Metrics()
    scripted = Scripted([OK, (NetworkError("down"),)])
    counters = Counters(metrics, UsageBook())
    measured = Measured(scripted, counters, "anthropic", "sonnet", lambda: None)

    await ask(measured, QUESTION)
    with pytest.raises(NetworkError):
        await ask(measured, QUESTION)

    def number(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, {"provider": "anthropic", **labels})

    assert number("claude_requests_total", model="sonnet") == 1
    assert number("claude_tokens_input_total", model="sonnet") == 5
    assert number("claude_tokens_output_total", model="sonnet") == 5
    assert number("claude_request_latency_seconds_count", model="sonnet") == 1
    assert number("claude_errors_total", type="NetworkError") == 1


async def test_what_was_used_is_noted_for_whoever_asked() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazily(lambda: Database.opened(None), stack))
        book = UsageBook(store, now=lambda: 1000.0)
        price = Price(input=Decimal(1_000_000), output=Decimal(1_000_000))
        asked = Question(
            model="m", messages=(Message.user("Hi"),), max_tokens=9, origin=Origin("me", "chat")
        )
        measured = Measured(
            Scripted([OK, (TextDelta("half an answer"), NetworkError("down")), OK]),
            Counters(Metrics(), book),
            "anthropic",
            "sonnet",
            lambda: price,
        )

        await ask(measured, asked)
        with pytest.raises(NetworkError):
            await ask(measured, asked)
        async with aclosing(measured.stream(asked)) as events:
            await anext(events)  # and is heard no further
        await book.flush()

        [(place, amount)] = (await store.sums(tuple(Dimension), 0, 9999)).items()
    assert place == (900, "me", "chat", "sonnet", "anthropic")
    assert (amount.calls, amount.questions, amount.unanswered) == (0, 3, 2)
    # Ten tokens are counted by the provider; what broke off is estimated.
    assert amount.input_tokens > 5
    assert amount.output_tokens > 5
    assert amount.cost == amount.tokens
    assert amount.unpriced == 0


async def test_what_never_began_costs_nothing_whatever_its_price() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazily(lambda: Database.opened(None), stack))
        book = UsageBook(store)
        counters = Counters(Metrics(), book)
        unpriced = Measured(
            Scripted([(NetworkError("down"),), OK]), counters, "openai", "m", lambda: None
        )

        with pytest.raises(NetworkError):
            await ask(unpriced, QUESTION)
        await ask(unpriced, QUESTION)
        await book.flush()

        [amount] = (await store.sums((), 0, 2**40)).values()
    assert (amount.questions, amount.unanswered, amount.unpriced) == (2, 1, 1)


@pytest.mark.parametrize("told", [-5, 10**30, True, "many", None, 1.5, 7])
def test_what_a_provider_counts_is_taken_as_far_as_it_can_be(told: object) -> None:
    assert 0 <= counted(told) <= 10**9
    assert counted(7) == 7
