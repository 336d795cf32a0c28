import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from junto.domain.completions import (
    AnswerEvent,
    Event,
    Question,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    clamp_token_count,
)
from junto.domain.errors import NetworkError
from junto.domain.messages import Message, ThinkingPart, ToolCall
from junto.domain.models import Price
from junto.domain.usage import RequestOrigin, UsageDimension
from junto.providers.middleware.cache import Cached, InMemoryAnswerCache, build_cache_key
from junto.providers.middleware.metrics import Measured, ModelTelemetry
from junto.providers.provider import Provider, ask
from junto.runtime.lazy import Lazy
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.usage import SqliteUsage
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage_recorder import UsageRecorder
from tests.event_loop import yield_to_tasks
from tests.providers.scripted_provider import (
    OK,
    QUESTION,
    FakeClock,
    ScriptedProvider,
    build_answer_event,
)

OTHER = replace(QUESTION, max_tokens=11)


@pytest.mark.feature("F190", "F191")
async def test_the_same_question_is_asked_once_within_its_ttl() -> None:
    clock, scripted = FakeClock(), ScriptedProvider([OK])
    cached = Cached(scripted, InMemoryAnswerCache(ttl_seconds=300, now=clock.now), "m")

    first = await ask(cached, QUESTION)
    again = await ask(cached, QUESTION)
    other = await ask(cached, OTHER)
    clock.time += 301
    later = await ask(cached, QUESTION)

    assert first == again == other == later
    assert len(scripted.asked) == 3


async def test_a_full_cache_evicts_the_least_recently_used_answer() -> None:
    scripted = ScriptedProvider([OK])
    cached = Cached(scripted, InMemoryAnswerCache(max_answers=2), "m")
    questions = [replace(QUESTION, max_tokens=n) for n in (1, 2, 3)]

    await ask(cached, questions[0])
    await ask(cached, questions[1])
    await ask(cached, questions[0])  # used again, so it stays
    await ask(cached, questions[2])
    await ask(cached, questions[0])
    assert len(scripted.asked) == 3
    await ask(cached, questions[1])
    assert len(scripted.asked) == 4


async def test_a_cached_answer_is_streamed_part_by_part() -> None:
    call = ToolCall("c", "f", {})
    message = Message.assistant(ThinkingPart("hm"), "Yes.", call)
    answer_event = build_answer_event()
    answer_event = AnswerEvent(replace(answer_event.answer, message=message))
    cached = Cached(ScriptedProvider([(answer_event,)]), InMemoryAnswerCache(), "m")
    await ask(cached, QUESTION)

    events = [event async for event in cached.stream(QUESTION)]

    assert events == [ThinkingDelta("hm"), TextDelta("Yes."), ToolCallEvent(call), answer_event]


async def test_a_failure_is_not_cached() -> None:
    scripted = ScriptedProvider([(NetworkError("down"),), OK])
    cached = Cached(scripted, InMemoryAnswerCache(), "m")

    with pytest.raises(NetworkError):
        await ask(cached, QUESTION)

    assert (await ask(cached, QUESTION)).message.text == "ok"


class PausingProvider(Provider):
    """Yields one delta, then waits until `resume` is set."""

    def __init__(self) -> None:
        self.calls = 0
        self.resume = asyncio.Event()
        self.stopped = asyncio.Event()

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        self.calls += 1
        try:
            yield TextDelta("o")
            await self.resume.wait()
            yield TextDelta("k")
            yield build_answer_event()
        finally:
            self.stopped.set()


async def test_two_hundred_identical_questions_share_one_call_and_all_its_events() -> None:
    inner = PausingProvider()
    cached = Cached(inner, InMemoryAnswerCache(), "m")

    async def collect() -> list[Event]:
        return [event async for event in cached.stream(QUESTION)]

    tasks = [asyncio.create_task(collect()) for _ in range(200)]
    await yield_to_tasks()
    inner.resume.set()
    answers = await asyncio.gather(*tasks)

    assert inner.calls == 1
    assert all(
        events == [TextDelta("o"), TextDelta("k"), build_answer_event()] for events in answers
    )


async def test_a_shared_call_stops_when_its_last_listener_leaves() -> None:
    inner = PausingProvider()
    cached = Cached(inner, InMemoryAnswerCache(), "m")

    async with aclosing(cached.stream(QUESTION)) as first:
        assert await anext(first) == TextDelta("o")
        async with aclosing(cached.stream(QUESTION)) as second:
            assert await anext(second) == TextDelta("o")
        assert not inner.stopped.is_set()

    await asyncio.wait_for(inner.stopped.wait(), 10)
    inner.resume.set()
    assert (await ask(cached, QUESTION)).message.text == "ok"
    assert inner.calls == 2


async def test_a_failure_reaches_every_listener() -> None:
    scripted = ScriptedProvider([(TextDelta("o"), NetworkError("down"))])
    cached = Cached(scripted, InMemoryAnswerCache(), "m")

    outcomes = await asyncio.gather(
        *(ask(cached, QUESTION) for _ in range(5)), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [NetworkError] * 5
    assert len(scripted.asked) == 1


texts = st.text(max_size=10)


@given(texts, texts, texts, texts)
def test_different_questions_never_share_a_cache_key(a: str, b: str, c: str, d: str) -> None:
    one = Question(model="m", messages=(Message.user(a), Message.assistant(b)))
    two = Question(model="m", messages=(Message.user(c), Message.assistant(d)))

    assert (build_cache_key("m", one) == build_cache_key("m", two)) == ((a, b) == (c, d))
    assert build_cache_key("m", one) != build_cache_key("n", one)
    assert build_cache_key(
        "m", replace(one, origin=RequestOrigin("you", "query"))
    ) == build_cache_key("m", one)


@pytest.mark.feature("F192", "F193", "F194", "F195", "F196", "F197")
async def test_answers_tokens_latency_and_failures_are_counted() -> None:
    metrics = Metrics()
    scripted = ScriptedProvider([OK, (NetworkError("down"),)])
    telemetry = ModelTelemetry(metrics, UsageRecorder())
    measured = Measured(scripted, telemetry, "anthropic", "sonnet", lambda: None)

    await ask(measured, QUESTION)
    with pytest.raises(NetworkError):
        await ask(measured, QUESTION)

    def read_sample(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, {"provider": "anthropic", **labels})

    assert read_sample("claude_requests_total", model="sonnet") == 1
    assert read_sample("claude_tokens_input_total", model="sonnet") == 5
    assert read_sample("claude_tokens_output_total", model="sonnet") == 5
    assert read_sample("claude_request_latency_seconds_count", model="sonnet") == 1
    assert read_sample("claude_errors_total", type="NetworkError") == 1


async def test_usage_is_recorded_for_the_caller() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazy(lambda: SqliteDatabase.open(None), stack))
        recorder = UsageRecorder(store, now=lambda: 1000.0)
        price = Price(input=Decimal(1_000_000), output=Decimal(1_000_000))
        question = Question(
            model="m",
            messages=(Message.user("Hi"),),
            max_tokens=9,
            origin=RequestOrigin("me", "chat"),
        )
        measured = Measured(
            ScriptedProvider([OK, (TextDelta("half an answer"), NetworkError("down")), OK]),
            ModelTelemetry(Metrics(), recorder),
            "anthropic",
            "sonnet",
            lambda: price,
        )

        await ask(measured, question)
        with pytest.raises(NetworkError):
            await ask(measured, question)
        async with aclosing(measured.stream(question)) as events:
            await anext(events)  # then the stream is closed early
        await recorder.flush()

        [(key, totals)] = (await store.load_totals(tuple(UsageDimension), 0, 9999)).items()
    assert key == (900, "me", "chat", "sonnet", "anthropic")
    assert (totals.calls, totals.questions, totals.unanswered) == (0, 3, 2)
    # The provider counts the complete answer, ten tokens; interrupted answers are estimated.
    assert totals.input_tokens > 5
    assert totals.output_tokens > 5
    assert totals.cost == totals.tokens
    assert totals.unpriced == 0


async def test_a_call_that_fails_before_its_first_event_is_not_counted_as_unpriced() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazy(lambda: SqliteDatabase.open(None), stack))
        recorder = UsageRecorder(store)
        telemetry = ModelTelemetry(Metrics(), recorder)
        unpriced = Measured(
            ScriptedProvider([(NetworkError("down"),), OK]), telemetry, "openai", "m", lambda: None
        )

        with pytest.raises(NetworkError):
            await ask(unpriced, QUESTION)
        await ask(unpriced, QUESTION)
        await recorder.flush()

        [totals] = (await store.load_totals((), 0, 2**40)).values()
    assert (totals.questions, totals.unanswered, totals.unpriced) == (2, 1, 1)


@pytest.mark.parametrize("reported", [-5, 10**30, True, "many", None, 1.5, 7])
def test_reported_token_counts_are_clamped_to_the_valid_range(reported: object) -> None:
    assert 0 <= clamp_token_count(reported) <= 10**9
    assert clamp_token_count(7) == 7
