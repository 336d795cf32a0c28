import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from junto.domain.completions import (
    AnswerEvent,
    Event,
    Question,
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from junto.domain.errors import (
    AuthenticationError,
    ContextOverflowError,
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    TimeLimitError,
)
from junto.domain.messages import Message
from junto.domain.models import Capabilities
from junto.providers.codecs.anthropic import AnthropicCodec
from junto.providers.codecs.codec import Codec
from junto.providers.codecs.openai import OpenAiCodec
from junto.providers.http.client import (
    Endpoint,
    EventTooLongError,
    HttpClient,
    SseReader,
    Timeouts,
    parse_retry_after,
)
from junto.providers.http.provider import HttpProvider
from junto.providers.provider import ask
from tests.event_loop import poll_until, yield_to_tasks
from tests.scripted_model_server import (
    ScriptedModelServer,
    ScriptedReply,
    anthropic_events,
    openai_events,
)

KEY = "sk-ant-never-to-be-seen-0000000000"
QUESTION = Question(model="m", messages=(Message.user("Hi"),))
DIALECTS: dict[str, tuple[Codec, Any]] = {
    "anthropic": (AnthropicCodec(), anthropic_events),
    "openai": (OpenAiCodec(), openai_events),
}
DEFAULT_TIMEOUTS = Timeouts()
both_dialects = pytest.mark.parametrize("dialect", DIALECTS)


@contextlib.asynccontextmanager
async def open_provider(
    dialect: str, timeouts: Timeouts = DEFAULT_TIMEOUTS
) -> AsyncIterator[tuple[ScriptedModelServer, HttpProvider]]:
    codec, _ = DIALECTS[dialect]
    async with ScriptedModelServer.start() as upstream, HttpClient.open() as client:
        endpoint = Endpoint(provider=dialect, url=f"{upstream.url}/v1", headers={"x-api-key": KEY})
        yield upstream, HttpProvider(codec, endpoint, Capabilities(), client, timeouts)


def build_events(dialect: str, *texts: str) -> Any:
    return DIALECTS[dialect][1](*texts)


@both_dialects
@pytest.mark.feature("F092", "F103", "F263")
async def test_an_answer_streams_in_deltas_and_ends_with_the_complete_message(dialect: str) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(build_events(dialect, "Hel", "lo ", "wörld")))

        events: list[Event] = [event async for event in adapter.stream(QUESTION)]

    assert events[:-1] == [TextDelta("Hel"), TextDelta("lo "), TextDelta("wörld")]
    assert isinstance(events[-1], AnswerEvent)
    answer = events[-1].answer
    assert answer.message == Message.assistant("Hello wörld")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)
    assert answer.model == "m-1"
    assert upstream.requests[0].headers["x-api-key"] == KEY
    assert upstream.requests[0].body["stream"] is True


@both_dialects
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_stream_is_decoded_the_same_however_it_is_split(dialect: str, size: int) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(
            ScriptedReply(build_events(dialect, "a", "ü", "\n", "data: x\n\n"), pieces=size)
        )

        answer = await ask(adapter, QUESTION)

    assert answer.message.text == "aü\ndata: x\n\n"


@both_dialects
async def test_a_chunk_of_one_megabyte_arrives_complete(dialect: str) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(build_events(dialect, "x" * 1_000_000)))

        answer = await ask(adapter, replace(QUESTION, max_tokens=100_000))

    assert len(answer.message.text) == 1_000_000


# What a provider sends without end: text, reasoning, and what shows nothing of it.
FLOODS: dict[str, dict[str, Any]] = {
    "text": {"choices": [{"index": 0, "delta": {"content": "x" * 50}}]},
    "long text": {"choices": [{"index": 0, "delta": {"content": "x" * 1_000_000}}]},
    "reasoning": {"choices": [{"index": 0, "delta": {"reasoning_content": "x" * 50}}]},
    "arguments": {
        "choices": [
            {
                "delta": {
                    "tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "x" * 50}}]
                }
            }
        ]
    },
    "nothing": {"choices": [], "padding": "x" * 500},
}


@pytest.mark.parametrize("flood", ["text", "long text", "reasoning"])
async def test_an_answer_without_end_is_cut_off(flood: str) -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply(flood=FLOODS[flood]))

        *deltas, last = [event async for event in adapter.stream(QUESTION)]
        await poll_until(upstream.requests[0].hung_up.is_set)

    assert isinstance(last, AnswerEvent)
    assert last.answer.stop_reason is StopReason.LENGTH
    texts = [event.text for event in deltas if isinstance(event, TextDelta)]
    thoughts = [event.text for event in deltas if isinstance(event, ThinkingDelta)]
    assert len("".join([*texts, *thoughts])) == 256 * 1024
    assert last.answer.message.text == "".join(texts)


@pytest.mark.parametrize("flood", ["arguments", "nothing"])
async def test_a_stream_without_end_is_cut_off(flood: str) -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply(flood=FLOODS[flood]))

        with pytest.raises(ModelError, match="MiB for one answer") as refused:
            await ask(adapter, QUESTION)
        await poll_until(upstream.requests[0].hung_up.is_set)

    assert not refused.value.retryable


async def test_a_flood_lets_other_calls_run() -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply(flood=FLOODS["nothing"]))
        turns = 0
        task = asyncio.create_task(ask(adapter, QUESTION))
        while not task.done():
            await yield_to_tasks()
            turns += 1

    assert isinstance(task.exception(), ModelError)
    assert turns > 20  # one for each chunk of 8 MiB


async def test_an_operator_can_allow_longer_or_shorter_answers() -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply(flood=FLOODS["text"]))

        answer = await ask(replace(adapter, max_answer_chars=1234), QUESTION)

    assert answer.message.text == "x" * 1234


def test_a_long_line_in_many_chunks_takes_linear_time() -> None:
    reader, chunk = SseReader(), b"x" * 1024

    def count_copies() -> int:
        list(reader.feed(b"data: "))
        return sum(len(list(reader.feed(chunk))) for _ in range(4000))

    assert count_copies() == 0
    assert [len(data) for data in reader.feed(b"\n\n")] == [4000 * 1024]
    with pytest.raises(EventTooLongError):
        collections.deque(map(list, (reader.feed(chunk) for _ in range(20_000))), maxlen=0)


@both_dialects
@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (400, "bad", InvalidInputError, False),
        (400, "prompt is too long: 9 tokens", ContextOverflowError, False),
        (400, "This model's maximum context length is 5", ContextOverflowError, False),
        (401, "no", AuthenticationError, False),
        (403, "no", AuthenticationError, False),
        (404, "no such model", NotFoundError, False),
        (408, "slow", TimeLimitError, True),
        (413, "large", ContextOverflowError, False),
        (429, "too fast", RateLimitedError, True),
        (500, "oops", NetworkError, True),
        (503, "", NetworkError, True),
        (529, "overloaded", NetworkError, True),
    ],
)
async def test_an_http_error_becomes_a_junto_error(
    dialect: str,
    status: int,
    message: str,
    kind: type[JuntoError],
    retryable: bool,  # noqa: FBT001
) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(
            ScriptedReply(
                status=status,
                body={"error": {"message": message}},
                headers={"retry-after": "7"},
            )
        )

        with pytest.raises(kind) as caught:
            await ask(adapter, QUESTION)

    error = caught.value
    assert type(error) is kind
    assert error.retryable is retryable
    assert message in error.message
    assert KEY not in error.message
    assert upstream.url not in error.message
    if status in (429, 529):
        assert error.retry_after == 7


@both_dialects
async def test_an_unrecognized_error_body_is_reported_by_its_status(dialect: str) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(status=502, body={"odd": 1}))

        with pytest.raises(NetworkError, match=f"{dialect} answered 502"):
            await ask(adapter, QUESTION)


@both_dialects
@pytest.mark.parametrize("sent_events", [0, 1, 3])
async def test_a_cut_stream_is_a_network_error(dialect: str, sent_events: int) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(
            ScriptedReply(build_events(dialect, "a", "b", "c", "d"), cut_after=sent_events)
        )

        with pytest.raises(NetworkError, match=r"hung up|broke off"):
            await ask(adapter, QUESTION)


@both_dialects
async def test_a_stream_without_its_final_event_is_a_network_error(dialect: str) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(build_events(dialect, "a", "b")[:2]))

        with pytest.raises(NetworkError, match="broke off before its end"):
            await ask(adapter, QUESTION)


@both_dialects
@pytest.mark.parametrize("garbage", [b"data: {not json}\n\n", b"data: [1]\n\n"])
async def test_a_malformed_chunk_is_a_model_error(dialect: str, garbage: bytes) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply([garbage]))

        with pytest.raises(ModelError, match="no event") as caught:
            await ask(adapter, QUESTION)

    assert caught.value.retryable


async def test_an_anthropic_error_event_in_a_stream_is_raised() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    async with open_provider("anthropic") as (upstream, adapter):
        upstream.enqueue(ScriptedReply([*anthropic_events("a")[:3], overloaded]))

        with pytest.raises(NetworkError, match="busy"):
            await ask(adapter, QUESTION)


async def test_an_openai_error_chunk_is_raised() -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply([{"error": {"code": 429, "message": "slow down"}}]))

        with pytest.raises(RateLimitedError, match="slow down"):
            await ask(adapter, QUESTION)


@both_dialects
@pytest.mark.parametrize("reply", [{"hang_before": True}, {"hang_after": 3}], ids=str)
@pytest.mark.feature("F090")
async def test_a_server_that_stops_sending_is_a_timeout(
    dialect: str, reply: dict[str, Any]
) -> None:
    async with open_provider(dialect, Timeouts(read=0.2)) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(build_events(dialect, "a", "b"), **reply))

        with pytest.raises(TimeLimitError, match="did not answer in time"):
            await ask(adapter, QUESTION)


@both_dialects
async def test_cancelling_closes_the_connection(dialect: str) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(build_events(dialect, "a", "b"), hang_after=3))
        task = asyncio.create_task(ask(adapter, QUESTION))
        await upstream.arrived.wait()

        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), 10)


@both_dialects
async def test_closing_the_stream_closes_the_connection(dialect: str) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(build_events(dialect, "a", "b"), hang_after=4))

        async with contextlib.aclosing(adapter.stream(QUESTION)) as events:
            await anext(events)

        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), 10)


async def test_an_unreachable_server_is_reported_without_its_address() -> None:
    async with HttpClient.open() as client:
        endpoint = Endpoint(provider="openai", url="http://user:pw@127.0.0.1:1/v1", headers={})
        adapter = HttpProvider(OpenAiCodec(), endpoint, Capabilities(), client, Timeouts())

        with pytest.raises(NetworkError, match="openai could not be reached") as caught:
            await ask(adapter, QUESTION)

    assert "127.0.0.1" not in caught.value.message
    assert "pw" not in caught.value.message


@pytest.mark.feature("F091")
async def test_connections_are_reused() -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply(openai_events("a")))

        for _ in range(5):
            await ask(adapter, QUESTION)

        connector = adapter.client.session.connector
        assert connector is not None
        assert len(connector._conns) == 1


async def test_five_hundred_concurrent_answers_stay_separate() -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(*(ScriptedReply(openai_events(f"answer {n}")) for n in range(501)))

        answers = await asyncio.gather(*(ask(adapter, QUESTION) for _ in range(500)))

    assert len({answer.message.text for answer in answers}) == 500


@pytest.mark.parametrize(
    "value",
    ["nan", "inf", "-inf", "1e999", "", "soon", "Mon, 99 Foo 2026 00:00:00 GMT",
     "Fri, 31 Dec 9999 23:59:59 -2359", "Fri, 31 Dec 99999999999999999999 23:59:59 GMT",
     "\x00", "9" * 5000],
)  # fmt: skip
@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms"])
def test_a_delay_that_makes_no_sense_is_ignored(header: str, value: str) -> None:
    delay = parse_retry_after({header: value})

    assert delay is None or 0 <= delay < float("inf")


@both_dialects
@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
async def test_an_error_with_a_bad_delay_is_still_that_error(dialect: str, value: str) -> None:
    async with open_provider(dialect) as (upstream, adapter):
        upstream.enqueue(ScriptedReply(status=429, body={}, headers={"retry-after": value}))

        with pytest.raises(RateLimitedError) as refused:
            await ask(adapter, QUESTION)

    assert refused.value.retry_after is None


@pytest.mark.parametrize("value", [5, 1.5, True, ["x"], {"a": "b"}])
@pytest.mark.parametrize("name", ["content", "reasoning_content", "refusal"])
async def test_an_answer_that_is_not_text_is_an_error_of_the_model(name: str, value: Any) -> None:
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply([{"choices": [{"index": 0, "delta": {name: value}}]}]))

        with pytest.raises(ModelError, match="makes no sense"):
            await ask(adapter, QUESTION)


async def test_an_answer_with_very_many_tool_calls_is_an_error_of_the_model() -> None:
    calls = [{"index": i, "id": f"c{i}", "function": {"name": "now"}} for i in range(300)]
    async with open_provider("openai") as (upstream, adapter):
        upstream.enqueue(ScriptedReply([{"choices": [{"delta": {"tool_calls": calls}}]}]))

        with pytest.raises(ModelError, match="makes no sense"):
            await ask(adapter, QUESTION)
