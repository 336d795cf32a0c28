import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from junto.domain.errors import (
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    RateLimitedError,
    TimeLimitError,
)
from junto.domain.estimates import question_tokens
from junto.domain.limits import Rate, Taken
from junto.domain.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from junto.domain.questions import Event, Question, TextDelta, ToolSpec
from junto.providers.pipeline.circuit import Circuit, Guarded
from junto.providers.pipeline.limits import Capped, Limited, LocalLimiter
from junto.providers.pipeline.retry import Alternative, Falling, Retrying, backoff
from junto.providers.provider import Provider, ask
from tests.providers.scripted import OK, QUESTION, Clock, Scripted, finished

DOWN = NetworkError("down")


def retrying(provider: Provider, clock: Clock, retries: int = 3) -> Retrying:
    return Retrying(provider, retries, wait=lambda attempt: 2.0**attempt, sleep=clock.sleep)


@pytest.mark.feature("F187")
async def test_a_passing_failure_is_tried_again_with_longer_and_longer_waits() -> None:
    clock, scripted = Clock(), Scripted([(DOWN,), (TimeLimitError("slow"),), (DOWN,), OK])

    answer = await ask(retrying(scripted, clock), QUESTION)

    assert answer.message.text == "ok"
    assert clock.slept == [1, 2, 4]


async def test_a_provider_is_asked_only_so_often() -> None:
    clock, scripted = Clock(), Scripted([(DOWN,)])

    with pytest.raises(NetworkError):
        await ask(retrying(scripted, clock, retries=2), QUESTION)

    assert len(scripted.asked) == 3


async def test_what_will_not_pass_is_not_tried_again() -> None:
    clock, scripted = Clock(), Scripted([(InvalidInputError("bad"),), OK])

    with pytest.raises(InvalidInputError):
        await ask(retrying(scripted, clock), QUESTION)

    assert len(scripted.asked) == 1


async def test_nothing_is_asked_again_once_a_word_has_gone_up() -> None:
    clock, scripted = Clock(), Scripted([(TextDelta("o"), DOWN), OK])
    heard: list[Event] = []

    async def hear() -> None:
        async for event in retrying(scripted, clock).stream(QUESTION):
            heard.append(event)  # noqa: PERF401 - the events before the failure matter

    with pytest.raises(NetworkError):
        await hear()

    assert heard == [TextDelta("o")]
    assert len(scripted.asked) == 1


async def test_the_provider_may_say_how_long_to_wait() -> None:
    clock = Clock()
    scripted = Scripted([(RateLimitedError("wait", retry_after=17),), OK])

    await ask(retrying(scripted, clock), QUESTION)

    assert clock.slept == [17]


async def test_nobody_waits_longer_than_a_minute() -> None:
    clock = Clock()
    scripted = Scripted([(RateLimitedError("wait", retry_after=3600),), OK])

    with pytest.raises(RateLimitedError):
        await ask(retrying(scripted, clock), QUESTION)

    assert clock.slept == []


@given(st.integers(0, 2000), st.floats(0, 1))
def test_waits_double_up_to_a_minute_and_differ(attempt: int, chance: float) -> None:
    longest = min(60.0, 2.0 ** min(attempt, 10))

    assert longest / 2 <= backoff(min(attempt, 1000), lambda: chance) <= longest


def choice(provider: Scripted, number: int) -> Alternative:
    return Alternative(f"id{number}", provider, f"wire{number}")


async def test_another_model_is_asked_when_the_first_cannot_answer() -> None:
    first, second, third = Scripted([(DOWN,)]), Scripted([(DOWN,)]), Scripted([OK])
    falling = Falling([choice(first, 1), choice(second, 2), choice(third, 3)])

    answer = await ask(falling, QUESTION)

    assert answer.message.text == "ok"
    assert [s.asked[0].model for s in (first, second, third)] == ["wire1", "wire2", "wire3"]


@pytest.mark.parametrize(
    "run", [(InvalidInputError("bad"),), (TextDelta("o"), DOWN)], ids=["hopeless", "begun"]
)
async def test_no_other_model_is_asked_for_a_bad_question_or_half_an_answer(run: Any) -> None:
    second = Scripted([OK])

    with pytest.raises(JuntoError):
        await ask(Falling([choice(Scripted([run]), 1), choice(second, 2)]), QUESTION)

    assert second.asked == []


async def test_the_last_models_error_is_the_error() -> None:
    slow = Scripted([(TimeLimitError("t"),)])

    with pytest.raises(TimeLimitError):
        await ask(Falling([choice(Scripted([(DOWN,)]), 1), choice(slow, 2)]), QUESTION)


async def test_a_provider_that_fails_and_fails_is_left_alone_and_tried_again_later() -> None:
    clock = Clock()
    circuit = Circuit("them", threshold=2, cooldown=30, now=clock.now)
    scripted = Scripted([(DOWN,), (DOWN,), (DOWN,), OK])
    guarded = Guarded(scripted, circuit)

    for _ in range(2):
        with pytest.raises(NetworkError, match="down"):
            await ask(guarded, QUESTION)
    with pytest.raises(NetworkError, match=r"left alone for another 30 s") as caught:
        await ask(guarded, QUESTION)
    assert caught.value.retry_after == 30
    assert len(scripted.asked) == 2

    clock.time += 31
    with pytest.raises(NetworkError, match="down"):  # one is let through, and fails
        await ask(guarded, QUESTION)
    with pytest.raises(NetworkError, match="left alone"):
        await ask(guarded, QUESTION)

    clock.time += 31
    assert (await ask(guarded, QUESTION)).message.text == "ok"
    assert (await ask(guarded, QUESTION)).message.text == "ok"


async def test_a_refused_question_says_nothing_about_the_provider() -> None:
    circuit = Circuit("them", threshold=1)
    guarded = Guarded(Scripted([(InvalidInputError("bad"),), (ModelError("odd"),), OK]), circuit)

    for kind in (InvalidInputError, ModelError):
        with pytest.raises(kind):
            await ask(guarded, QUESTION)

    assert (await ask(guarded, QUESTION)).message.text == "ok"


@pytest.mark.feature("F188")
@pytest.mark.parametrize("rate", [Rate(requests=7, tokens=10_000), Rate(requests=500, tokens=77)])
async def test_two_hundred_callers_at_once_never_exceed_the_limit(rate: Rate) -> None:
    clock, limiter = Clock(), LocalLimiter()
    limiter.now = clock.now
    admitted: list[float] = []
    limited = Limited(
        _Noting(admitted, clock),
        limiter,
        "m",
        rate,
        patience=10_000,
        now=clock.now,
        sleep=clock.sleep,
    )

    await asyncio.gather(*(ask(limited, QUESTION) for _ in range(200)))

    assert len(admitted) == 200
    per_call = question_tokens(QUESTION)
    most = min(rate.requests, rate.tokens // per_call)
    for start in admitted:
        assert sum(start <= at < start + 60 for at in admitted) <= most


class _Noting(Provider):
    """Notes when it is asked, and answers with as many tokens as were estimated."""

    def __init__(self, admitted: list[float], clock: Clock) -> None:
        self.admitted, self.clock = admitted, clock

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        self.admitted.append(self.clock.time)
        half = question_tokens(question) / 2
        yield finished(tokens=-int(-half // 1))


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 60)), min_size=1, max_size=60),
    st.integers(1, 10),
)
def test_no_minute_ever_holds_more_than_the_limit(calls: list[tuple[int, int]], most: int) -> None:
    clock = Clock()
    limiter = LocalLimiter(now=clock.now)
    rate = Rate(requests=most, tokens=100)
    admitted: list[tuple[float, int]] = []

    async def play() -> None:
        for pause, tokens in calls:
            clock.time += pause
            taken = await limiter.take("k", tokens, rate)
            if isinstance(taken, Taken):
                admitted.append((clock.time, tokens))
            else:
                clock.time += taken
                again = await limiter.take("k", tokens, rate)
                assert isinstance(again, Taken), "the wait that was promised is enough"
                admitted.append((clock.time, tokens))

    asyncio.run(play())

    for at, _ in admitted:
        window = [tokens for when, tokens in admitted if at - 60 < when <= at]
        assert len(window) <= most
        assert sum(window) <= 100


async def test_a_question_larger_than_the_limit_is_an_error_and_not_a_wait() -> None:
    limited = Limited(Scripted([OK]), LocalLimiter(), "m", Rate(tokens=5))

    with pytest.raises(InvalidInputError, match="Send less"):
        await ask(limited, QUESTION)


@pytest.mark.feature("F175")
async def test_whoever_would_wait_too_long_is_told_when_to_come_back() -> None:
    clock = Clock()
    limited = Limited(
        Scripted([OK]),
        LocalLimiter(now=clock.now),
        "m",
        Rate(requests=1),
        patience=30,
        now=clock.now,
        sleep=clock.sleep,
    )
    await ask(limited, QUESTION)
    clock.time += 5

    with pytest.raises(RateLimitedError) as caught:
        await ask(limited, QUESTION)

    assert caught.value.retry_after == 55
    assert clock.slept == []


async def test_tokens_that_were_not_used_are_given_back() -> None:
    clock = Clock()
    limiter, rate = LocalLimiter(now=clock.now), Rate(tokens=100)
    taken = await limiter.take("m", 90, rate)
    assert isinstance(taken, Taken)
    assert await limiter.take("m", 20, rate) == 60

    await limiter.settle(taken, 10)

    assert isinstance(await limiter.take("m", 20, rate), Taken)
    await limiter.settle(Taken("other", "1"), 1)  # long gone, and nobody minds


def test_every_part_of_a_question_is_estimated() -> None:
    parts = Message.user(
        "x" * 400,
        Image("image/png", b""),
        Document("application/pdf", b"x" * 2000),
        Thinking("x" * 40),
        ToolCall("c", "name", {"a": 1}),
        ToolResult("c", (Text("x" * 40),)),
    )
    question = Question(
        model="m",
        messages=(parts,),
        system="x" * 400,
        tools=(ToolSpec("t", "x" * 400, {}),),
        max_tokens=10,
    )

    assert 1800 < question_tokens(question) < 2000


async def test_only_so_many_calls_run_at_once() -> None:
    running, most = 0, 0

    class Counting(Provider):
        @override
        async def stream(self, question: Question) -> AsyncGenerator[Event]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            yield finished()

    capped = Capped(Counting(), asyncio.Semaphore(3))
    await asyncio.gather(*(ask(capped, QUESTION) for _ in range(20)))

    assert most == 3


async def test_a_model_that_says_nothing_at_all_is_an_error() -> None:
    with pytest.raises(ModelError, match="said nothing"):
        await ask(Scripted([()]), QUESTION)
