import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from junto.domain.completions import Event, Question, TextDelta, ToolSpec
from junto.domain.errors import (
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    RateLimitedError,
    TimeLimitError,
)
from junto.domain.limits import RateLimit, RateReservation
from junto.domain.messages import (
    DocumentPart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from junto.domain.token_estimates import estimate_question_tokens
from junto.providers.middleware.circuit import Circuit, CircuitBreaker
from junto.providers.middleware.limits import ConcurrencyLimited, InMemoryRateLimiter, RateLimited
from junto.providers.middleware.retry import Fallback, FallbackCandidate, Retrying, compute_backoff
from junto.providers.provider import Provider, ask
from tests.event_loop import yield_to_tasks
from tests.providers.scripted_provider import (
    OK,
    QUESTION,
    FakeClock,
    ScriptedProvider,
    build_answer_event,
)

DOWN = NetworkError("down")


def build_retrying(provider: Provider, clock: FakeClock, retries: int = 3) -> Retrying:
    return Retrying(provider, retries, backoff=lambda attempt: 2.0**attempt, sleep=clock.sleep)


@pytest.mark.feature("F187")
async def test_a_transient_failure_is_retried_with_growing_delays() -> None:
    clock, scripted = (
        FakeClock(),
        ScriptedProvider([(DOWN,), (TimeLimitError("slow"),), (DOWN,), OK]),
    )

    answer = await ask(build_retrying(scripted, clock), QUESTION)

    assert answer.message.text == "ok"
    assert clock.sleeps == [1, 2, 4]


async def test_retries_stop_at_their_maximum() -> None:
    clock, scripted = FakeClock(), ScriptedProvider([(DOWN,)])

    with pytest.raises(NetworkError):
        await ask(build_retrying(scripted, clock, retries=2), QUESTION)

    assert len(scripted.asked) == 3


async def test_a_permanent_failure_is_not_retried() -> None:
    clock, scripted = FakeClock(), ScriptedProvider([(InvalidInputError("bad"),), OK])

    with pytest.raises(InvalidInputError):
        await ask(build_retrying(scripted, clock), QUESTION)

    assert len(scripted.asked) == 1


async def test_nothing_is_retried_after_the_first_event() -> None:
    clock, scripted = FakeClock(), ScriptedProvider([(TextDelta("o"), DOWN), OK])
    received: list[Event] = []

    async def collect() -> None:
        async for event in build_retrying(scripted, clock).stream(QUESTION):
            received.append(event)  # noqa: PERF401 - the events before the failure matter

    with pytest.raises(NetworkError):
        await collect()

    assert received == [TextDelta("o")]
    assert len(scripted.asked) == 1


async def test_a_retry_waits_for_the_providers_retry_after() -> None:
    clock = FakeClock()
    scripted = ScriptedProvider([(RateLimitedError("wait", retry_after=17),), OK])

    await ask(build_retrying(scripted, clock), QUESTION)

    assert clock.sleeps == [17]


async def test_a_retry_after_above_one_minute_fails_immediately() -> None:
    clock = FakeClock()
    scripted = ScriptedProvider([(RateLimitedError("wait", retry_after=3600),), OK])

    with pytest.raises(RateLimitedError):
        await ask(build_retrying(scripted, clock), QUESTION)

    assert clock.sleeps == []


@given(st.integers(0, 2000), st.floats(0, 1))
def test_the_backoff_doubles_up_to_a_minute_with_jitter(attempt: int, random_value: float) -> None:
    max_delay = min(60.0, 2.0 ** min(attempt, 10))

    assert max_delay / 2 <= compute_backoff(min(attempt, 1000), lambda: random_value) <= max_delay


def build_candidate(provider: ScriptedProvider, number: int) -> FallbackCandidate:
    return FallbackCandidate(f"id{number}", provider, f"wire{number}")


async def test_the_next_model_is_asked_when_one_cannot_answer() -> None:
    first, second, third = (
        ScriptedProvider([(DOWN,)]),
        ScriptedProvider([(DOWN,)]),
        ScriptedProvider([OK]),
    )
    fallback = Fallback(
        [build_candidate(first, 1), build_candidate(second, 2), build_candidate(third, 3)]
    )

    answer = await ask(fallback, QUESTION)

    assert answer.message.text == "ok"
    assert [provider.asked[0].model for provider in (first, second, third)] == [
        "wire1",
        "wire2",
        "wire3",
    ]


@pytest.mark.parametrize(
    "run",
    [(InvalidInputError("bad"),), (TextDelta("o"), DOWN)],
    ids=["invalid question", "partial answer"],
)
async def test_an_invalid_question_or_a_partial_answer_has_no_fallback(run: Any) -> None:
    second = ScriptedProvider([OK])

    with pytest.raises(JuntoError):
        await ask(
            Fallback([build_candidate(ScriptedProvider([run]), 1), build_candidate(second, 2)]),
            QUESTION,
        )

    assert second.asked == []


async def test_when_every_model_fails_the_last_error_is_raised() -> None:
    slow = ScriptedProvider([(TimeLimitError("t"),)])

    with pytest.raises(TimeLimitError):
        await ask(
            Fallback([build_candidate(ScriptedProvider([(DOWN,)]), 1), build_candidate(slow, 2)]),
            QUESTION,
        )


async def test_the_circuit_opens_after_repeated_failures_and_probes_after_the_cooldown() -> None:
    clock = FakeClock()
    circuit = Circuit("them", failure_threshold=2, cooldown_seconds=30, now=clock.now)
    scripted = ScriptedProvider([(DOWN,), (DOWN,), (DOWN,), OK])
    breaker = CircuitBreaker(scripted, circuit)

    for _ in range(2):
        with pytest.raises(NetworkError, match="down"):
            await ask(breaker, QUESTION)
    with pytest.raises(NetworkError, match=r"left alone for another 30 s") as caught:
        await ask(breaker, QUESTION)
    assert caught.value.retry_after == 30
    assert len(scripted.asked) == 2

    clock.time += 31
    with pytest.raises(NetworkError, match="down"):  # the probe is let through, and fails
        await ask(breaker, QUESTION)
    with pytest.raises(NetworkError, match="left alone"):
        await ask(breaker, QUESTION)

    clock.time += 31
    assert (await ask(breaker, QUESTION)).message.text == "ok"
    assert (await ask(breaker, QUESTION)).message.text == "ok"


async def test_rejected_questions_do_not_open_the_circuit() -> None:
    circuit = Circuit("them", failure_threshold=1)
    breaker = CircuitBreaker(
        ScriptedProvider([(InvalidInputError("bad"),), (ModelError("odd"),), OK]), circuit
    )

    for kind in (InvalidInputError, ModelError):
        with pytest.raises(kind):
            await ask(breaker, QUESTION)

    assert (await ask(breaker, QUESTION)).message.text == "ok"


@pytest.mark.feature("F188")
@pytest.mark.parametrize(
    "rate", [RateLimit(requests=7, tokens=10_000), RateLimit(requests=500, tokens=77)]
)
async def test_two_hundred_concurrent_calls_never_exceed_the_rate_limit(rate: RateLimit) -> None:
    clock = FakeClock()
    limiter = InMemoryRateLimiter(now=clock.now)
    admitted: list[float] = []
    limited = RateLimited(
        _TimestampingProvider(admitted, clock),
        limiter,
        "m",
        rate,
        max_wait_seconds=10_000,
        now=clock.now,
        sleep=clock.sleep,
    )

    await asyncio.gather(*(ask(limited, QUESTION) for _ in range(200)))

    assert len(admitted) == 200
    tokens_per_call = estimate_question_tokens(QUESTION)
    max_calls = min(rate.requests, rate.tokens // tokens_per_call)
    for start in admitted:
        assert sum(start <= at < start + 60 for at in admitted) <= max_calls


class _TimestampingProvider(Provider):
    """Records when it is called, and answers with as many tokens as were estimated."""

    def __init__(self, admitted: list[float], clock: FakeClock) -> None:
        self.admitted, self.clock = admitted, clock

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        self.admitted.append(self.clock.time)
        half = estimate_question_tokens(question) / 2
        yield build_answer_event(tokens=-int(-half // 1))


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 60)), min_size=1, max_size=60),
    st.integers(1, 10),
)
def test_no_minute_ever_exceeds_the_rate_limit(
    calls: list[tuple[int, int]], max_requests: int
) -> None:
    clock = FakeClock()
    limiter = InMemoryRateLimiter(now=clock.now)
    rate = RateLimit(requests=max_requests, tokens=100)
    admitted: list[tuple[float, int]] = []

    async def run_calls() -> None:
        for pause, tokens in calls:
            clock.time += pause
            outcome = await limiter.acquire("k", tokens, rate)
            if isinstance(outcome, RateReservation):
                admitted.append((clock.time, tokens))
            else:
                clock.time += outcome
                retried = await limiter.acquire("k", tokens, rate)
                assert isinstance(retried, RateReservation), "the returned wait must be long enough"
                admitted.append((clock.time, tokens))

    asyncio.run(run_calls())

    for at, _ in admitted:
        window = [tokens for when, tokens in admitted if at - 60 < when <= at]
        assert len(window) <= max_requests
        assert sum(window) <= 100


async def test_a_question_larger_than_the_rate_limit_fails_instead_of_waiting() -> None:
    limited = RateLimited(ScriptedProvider([OK]), InMemoryRateLimiter(), "m", RateLimit(tokens=5))

    with pytest.raises(InvalidInputError, match="Send less"):
        await ask(limited, QUESTION)


@pytest.mark.feature("F175")
async def test_a_call_that_would_wait_too_long_fails_with_retry_after() -> None:
    clock = FakeClock()
    limited = RateLimited(
        ScriptedProvider([OK]),
        InMemoryRateLimiter(now=clock.now),
        "m",
        RateLimit(requests=1),
        max_wait_seconds=30,
        now=clock.now,
        sleep=clock.sleep,
    )
    await ask(limited, QUESTION)
    clock.time += 5

    with pytest.raises(RateLimitedError) as caught:
        await ask(limited, QUESTION)

    assert caught.value.retry_after == 55
    assert clock.sleeps == []


async def test_unused_tokens_are_released() -> None:
    clock = FakeClock()
    limiter, rate = InMemoryRateLimiter(now=clock.now), RateLimit(tokens=100)
    reservation = await limiter.acquire("m", 90, rate)
    assert isinstance(reservation, RateReservation)
    assert await limiter.acquire("m", 20, rate) == 60

    await limiter.settle(reservation, 10)

    assert isinstance(await limiter.acquire("m", 20, rate), RateReservation)
    await limiter.settle(RateReservation("other", "1"), 1)  # an unknown reservation is ignored


def test_the_token_estimate_covers_every_part_of_a_question() -> None:
    message = Message.user(
        "x" * 400,
        ImagePart("image/png", b""),
        DocumentPart("application/pdf", b"x" * 2000),
        ThinkingPart("x" * 40),
        ToolCall("c", "name", {"a": 1}),
        ToolResult("c", (TextPart("x" * 40),)),
    )
    question = Question(
        model="m",
        messages=(message,),
        system="x" * 400,
        tools=(ToolSpec("t", "x" * 400, {}),),
        max_tokens=10,
    )

    assert 1800 < estimate_question_tokens(question) < 2000


async def test_the_number_of_concurrent_calls_is_limited() -> None:
    active, max_active = 0, 0

    class CountingProvider(Provider):
        @override
        async def stream(self, question: Question) -> AsyncGenerator[Event]:
            nonlocal active, max_active
            active += 1
            max_active = max(max_active, active)
            await yield_to_tasks()
            active -= 1
            yield build_answer_event()

    limited = ConcurrencyLimited(CountingProvider(), asyncio.Semaphore(3))
    await asyncio.gather(*(ask(limited, QUESTION) for _ in range(20)))

    assert max_active == 3


async def test_a_model_that_sends_no_events_is_an_error() -> None:
    with pytest.raises(ModelError, match="said nothing"):
        await ask(ScriptedProvider([()]), QUESTION)
