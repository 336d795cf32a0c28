import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

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
from junto.domain.questions import Event, Finished, Question, TextDelta
from junto.providers.dialects.anthropic import AnthropicCodec
from junto.providers.dialects.folding import Codec
from junto.providers.dialects.openai import OpenAiCodec
from junto.providers.provider import ask
from junto.providers.wiring.adapter import Adapter
from junto.providers.wiring.wire import Endpoint, Patience, Wire
from tests.upstream import Reply, Upstream, anthropic_events, openai_events

KEY = "sk-ant-never-to-be-seen-0000000000"
QUESTION = Question(model="m", messages=(Message.user("Hi"),))
DIALECTS: dict[str, tuple[Codec, Any]] = {
    "anthropic": (AnthropicCodec(), anthropic_events),
    "openai": (OpenAiCodec(), openai_events),
}
PATIENT = Patience()
both = pytest.mark.parametrize("dialect", DIALECTS)


@contextlib.asynccontextmanager
async def connected(
    dialect: str, patience: Patience = PATIENT
) -> AsyncIterator[tuple[Upstream, Adapter]]:
    codec, _ = DIALECTS[dialect]
    async with Upstream.started() as upstream, Wire.opened() as wire:
        endpoint = Endpoint(provider=dialect, url=f"{upstream.url}/v1", headers={"x-api-key": KEY})
        yield upstream, Adapter(codec, endpoint, Capabilities(), wire, patience)


def said(dialect: str, *texts: str) -> Any:
    return DIALECTS[dialect][1](*texts)


@both
@pytest.mark.feature("F092", "F103", "F263")
async def test_an_answer_arrives_piece_by_piece_and_then_whole(dialect: str) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "Hel", "lo ", "wörld")))

        events: list[Event] = [event async for event in adapter.stream(QUESTION)]

    assert events[:-1] == [TextDelta("Hel"), TextDelta("lo "), TextDelta("wörld")]
    assert isinstance(events[-1], Finished)
    answer = events[-1].answer
    assert answer.message == Message.assistant("Hello wörld")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)
    assert answer.model == "m-1"
    assert upstream.requests[0].headers["x-api-key"] == KEY
    assert upstream.requests[0].body["stream"] is True


@both
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_it_does_not_matter_how_the_network_cuts_the_stream(dialect: str, size: int) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "a", "ü", "\n", "data: x\n\n"), pieces=size))

        answer = await ask(adapter, QUESTION)

    assert answer.message.text == "aü\ndata: x\n\n"


@both
async def test_a_chunk_of_a_megabyte_arrives_whole(dialect: str) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "x" * 1_000_000)))

        answer = await ask(adapter, QUESTION)

    assert len(answer.message.text) == 1_000_000


@both
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
async def test_a_refusal_is_one_of_our_errors(
    dialect: str,
    status: int,
    message: str,
    kind: type[JuntoError],
    retryable: bool,  # noqa: FBT001
) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(
            Reply(
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


@both
async def test_a_refusal_in_no_known_form_is_told_by_its_status(dialect: str) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(status=502, body={"odd": 1}))

        with pytest.raises(NetworkError, match=f"{dialect} answered 502"):
            await ask(adapter, QUESTION)


@both
@pytest.mark.parametrize("said_so_far", [0, 1, 3])
async def test_a_cut_stream_is_a_network_error(dialect: str, said_so_far: int) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "a", "b", "c", "d"), cut_after=said_so_far))

        with pytest.raises(NetworkError, match=r"hung up|broke off"):
            await ask(adapter, QUESTION)


@both
async def test_a_stream_without_its_end_is_a_network_error(dialect: str) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "a", "b")[:2]))

        with pytest.raises(NetworkError, match="broke off before its end"):
            await ask(adapter, QUESTION)


@both
@pytest.mark.parametrize("garbage", [b"data: {not json}\n\n", b"data: [1]\n\n"])
async def test_a_malformed_chunk_is_a_model_error(dialect: str, garbage: bytes) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply([garbage]))

        with pytest.raises(ModelError, match="no event") as caught:
            await ask(adapter, QUESTION)

    assert caught.value.retryable


async def test_an_error_inside_a_stream_is_that_error() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    async with connected("anthropic") as (upstream, adapter):
        upstream.will(Reply([*anthropic_events("a")[:3], overloaded]))

        with pytest.raises(NetworkError, match="busy"):
            await ask(adapter, QUESTION)


async def test_an_error_chunk_is_that_error() -> None:
    async with connected("openai") as (upstream, adapter):
        upstream.will(Reply([{"error": {"code": 429, "message": "slow down"}}]))

        with pytest.raises(RateLimitedError, match="slow down"):
            await ask(adapter, QUESTION)


@both
@pytest.mark.parametrize("reply", [{"hang_before": True}, {"hang_after": 3}], ids=str)
@pytest.mark.feature("F090")
async def test_silence_is_a_timeout(dialect: str, reply: dict[str, Any]) -> None:
    async with connected(dialect, Patience(read=0.2)) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "a", "b"), **reply))

        with pytest.raises(TimeLimitError, match="did not answer in time"):
            await ask(adapter, QUESTION)


@both
async def test_cancelling_closes_the_connection(dialect: str) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "a", "b"), hang_after=3))
        asking = asyncio.create_task(ask(adapter, QUESTION))
        await upstream.arrived.wait()

        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking

        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), 10)


@both
async def test_leaving_the_stream_closes_the_connection(dialect: str) -> None:
    async with connected(dialect) as (upstream, adapter):
        upstream.will(Reply(said(dialect, "a", "b"), hang_after=4))

        async with contextlib.aclosing(adapter.stream(QUESTION)) as events:
            await anext(events)

        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), 10)


async def test_nobody_there_is_said_without_the_address() -> None:
    async with Wire.opened() as wire:
        endpoint = Endpoint(provider="openai", url="http://user:pw@127.0.0.1:1/v1", headers={})
        adapter = Adapter(OpenAiCodec(), endpoint, Capabilities(), wire, Patience())

        with pytest.raises(NetworkError, match="openai could not be reached") as caught:
            await ask(adapter, QUESTION)

    assert "127.0.0.1" not in caught.value.message
    assert "pw" not in caught.value.message


@pytest.mark.feature("F091")
async def test_connections_are_used_again() -> None:
    async with connected("openai") as (upstream, adapter):
        upstream.will(Reply(openai_events("a")))

        for _ in range(5):
            await ask(adapter, QUESTION)

        connector = adapter.wire.session.connector
        assert connector is not None
        assert len(connector._conns) == 1


async def test_five_hundred_answers_at_once_are_not_mixed_up() -> None:
    async with connected("openai") as (upstream, adapter):
        upstream.will(*(Reply(openai_events(f"answer {n}")) for n in range(501)))

        answers = await asyncio.gather(*(ask(adapter, QUESTION) for _ in range(500)))

    assert len({answer.message.text for answer in answers}) == 500
