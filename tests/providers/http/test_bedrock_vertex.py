"""Claude on Bedrock and on Vertex AI: the real SDK against an emulator on loopback."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import build_catalog
from junto.domain.completions import (
    AnswerEvent,
    Event,
    Question,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    ToolSpec,
)
from junto.domain.errors import (
    AuthenticationError,
    ConfigurationError,
    ContextOverflowError,
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    TimeLimitError,
)
from junto.domain.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCall
from junto.domain.models import Capabilities
from junto.providers.codecs.anthropic import AnthropicCodec
from junto.providers.http.bedrock_vertex import (
    CloudAccount,
    CloudProvider,
    open_bedrock,
    open_vertex,
)
from junto.providers.http.client import Timeouts
from junto.providers.provider import ask
from junto.settings.schema import Settings
from tests.providers.council_factory import open_council_with_usage
from tests.scripted_model_server import Json, ScriptedModelServer, ScriptedReply, anthropic_events
from tests.scripted_model_server.clouds import (
    bedrock_refusal,
    bedrock_reply,
    chunk,
    exception,
    vertex_refusal,
    vertex_reply,
)

ACCESS_KEY = "AKIANEVERTOBESEEN000"
SECRET_KEY = "never-to-be-seen-secret"  # noqa: S105
SESSION_TOKEN = "never-to-be-seen-session"  # noqa: S105
ACCESS_TOKEN = "ya29.never-to-be-seen"  # noqa: S105
SECRETS = (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, ACCESS_TOKEN)

QUESTION = Question(model="claude-m-v1:0", messages=(Message.user("Hi"),))
PATHS = {
    "bedrock": "/model/claude-m-v1:0/invoke-with-response-stream",
    "vertex": "/projects/p1/locations/r-1/publishers/anthropic/models"
    "/claude-m-v1:0:streamRawPredict",
}
VERSIONS = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
REPLIES: dict[str, Callable[..., ScriptedReply]] = {
    "bedrock": bedrock_reply,
    "vertex": vertex_reply,
}
REFUSALS: dict[str, Callable[..., ScriptedReply]] = {
    "bedrock": bedrock_refusal,
    "vertex": vertex_refusal,
}
DEFAULT_TIMEOUTS = Timeouts()
both_clouds = pytest.mark.parametrize("cloud", ["bedrock", "vertex"])


@pytest.fixture(autouse=True)
def no_cloud_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide any credentials this machine has."""
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "CLOUD_ML_REGION",
        "ANTHROPIC_VERTEX_PROJECT_ID",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "google.json"))


def open_account(cloud: str, url: str) -> contextlib.AbstractAsyncContextManager[CloudAccount]:
    if cloud == "vertex":
        return open_vertex(region="r-1", project_id="p1", base_url=url, access_token=ACCESS_TOKEN)
    return open_bedrock(
        region="r-1",
        base_url=url,
        access_key=ACCESS_KEY,
        secret_key=SECRET_KEY,
        session_token=SESSION_TOKEN,
    )


@contextlib.asynccontextmanager
async def open_provider(
    cloud: str, timeouts: Timeouts = DEFAULT_TIMEOUTS
) -> AsyncIterator[tuple[ScriptedModelServer, CloudProvider]]:
    async with (
        ScriptedModelServer.start() as upstream,
        open_account(cloud, upstream.url) as account,
    ):
        yield upstream, CloudProvider(account, Capabilities(), timeouts)


def build_thinking_events() -> list[Json]:
    """Return the events of an answer with thinking, text and a tool call."""
    call = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
    blocks: list[tuple[Json, list[Json]]] = [
        (
            {"type": "thinking", "thinking": ""},
            [
                {"type": "thinking_delta", "thinking": "Hm."},
                {"type": "signature_delta", "signature": "s1"},
            ],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "Ich schaü."}]),
        (call, [{"type": "input_json_delta", "partial_json": '{"city": "Taipei"}'}]),
    ]
    start, *_, stop, end = anthropic_events(stop_reason="tool_use")
    middle: list[Json] = []
    for index, (block, deltas) in enumerate(blocks):
        middle += [
            {"type": "content_block_start", "index": index, "content_block": block},
            *({"type": "content_block_delta", "index": index, "delta": d} for d in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    return [start, *middle, stop, end]


@both_clouds
@pytest.mark.parametrize("size", [None, 1, 7])
async def test_an_answer_streams_in_deltas_and_ends_with_the_complete_message(
    cloud: str, size: int | None
) -> None:
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](build_thinking_events(), pieces=size))

        events: list[Event] = [event async for event in provider.stream(QUESTION)]

    call = ToolCall("t1", "weather", {"city": "Taipei"})
    assert events[:-1] == [ThinkingDelta("Hm."), TextDelta("Ich schaü."), ToolCallEvent(call)]
    assert isinstance(events[-1], AnswerEvent)
    answer = events[-1].answer
    assert answer.message == Message.assistant(
        ThinkingPart("Hm.", "s1"), TextPart("Ich schaü."), call
    )
    assert answer.stop_reason is StopReason.TOOL_USE
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)
    assert answer.model == "m-1"


@both_clouds
async def test_the_body_is_the_codecs_except_for_fields_the_cloud_expects_elsewhere(
    cloud: str,
) -> None:
    question = Question(
        model=QUESTION.model,
        messages=(Message.user("Look", ImagePart("image/png", b"\x89PNG")),),
        system="Be brief.",
        tools=(ToolSpec("weather", "The weather", {"type": "object"}),),
        temperature=0.5,
    )
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("Hi")))

        await ask(provider, question)

    encoded = AnthropicCodec().encode(question, Capabilities())
    del encoded["model"]
    if cloud == "bedrock":
        del encoded["stream"]
    assert upstream.requests[0].path == PATHS[cloud]
    assert upstream.requests[0].body == {**encoded, "anthropic_version": VERSIONS[cloud]}


@both_clouds
async def test_unset_options_are_not_sent(cloud: str) -> None:
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("Hi")))

        await ask(provider, QUESTION)

    stream = set() if cloud == "bedrock" else {"stream"}
    assert set(upstream.requests[0].body) == {
        "anthropic_version",
        "max_tokens",
        "messages",
        *stream,
    }


async def test_bedrock_requests_are_signed_and_never_contain_the_secret() -> None:
    async with open_provider("bedrock") as (upstream, provider):
        upstream.enqueue(bedrock_reply(anthropic_events("Hi")))

        await ask(provider, QUESTION)

    headers = upstream.requests[0].headers
    assert headers["Authorization"].startswith(f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/")
    assert "/r-1/bedrock/aws4_request" in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == SESSION_TOKEN
    assert SECRET_KEY not in str(headers)


async def test_vertex_requests_carry_a_bearer_token() -> None:
    async with open_provider("vertex") as (upstream, provider):
        upstream.enqueue(vertex_reply(anthropic_events("Hi")))

        await ask(provider, QUESTION)

    assert upstream.requests[0].headers["Authorization"] == f"Bearer {ACCESS_TOKEN}"


@both_clouds
@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (302, "over there", ModelError, False),
        (400, "bad", InvalidInputError, False),
        (400, "prompt is too long: 9 tokens", ContextOverflowError, False),
        (401, "no", AuthenticationError, False),
        (403, "no", AuthenticationError, False),
        (404, "no such model", NotFoundError, False),
        (408, "slow", TimeLimitError, True),
        (424, "the model failed", NetworkError, True),
        (429, "too fast", RateLimitedError, True),
        (500, "oops", NetworkError, True),
        (503, "", NetworkError, True),
        (529, "overloaded", NetworkError, True),
    ],
)
async def test_an_http_error_becomes_a_junto_error_at_the_first_attempt(
    cloud: str,
    status: int,
    message: str,
    kind: type[JuntoError],
    retryable: bool,  # noqa: FBT001
) -> None:
    headers = {"retry-after": "7", "location": "http://127.0.0.1:1/"}
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REFUSALS[cloud](status, "SomeException", message, **headers))

        with pytest.raises(kind) as caught:
            await ask(provider, QUESTION)

    error = caught.value
    assert type(error) is kind
    assert error.retryable is retryable
    assert f"{cloud} says: {message}" in error.message or f"{cloud} answered" in error.message
    assert upstream.url not in error.message
    assert not any(secret in error.message for secret in SECRETS)
    assert len(upstream.requests) == 1
    if status in (429, 529):
        assert error.retry_after == 7


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([{"error": {"message": "quota"}}], "vertex says: quota"),
        ({"odd": 1}, "vertex answered 429"),
    ],
)
async def test_a_vertex_error_may_be_a_list_or_have_an_unknown_form(
    body: Any, message: str
) -> None:
    async with open_provider("vertex") as (upstream, provider):
        upstream.enqueue(ScriptedReply(status=429, body=body))

        with pytest.raises(RateLimitedError, match=message):
            await ask(provider, QUESTION)


async def test_the_request_that_aws_echoes_in_an_error_is_not_shown() -> None:
    echoed = f"The signature does not match.\n\n'POST\nx-amz-security-token:{SESSION_TOKEN}'"
    async with open_provider("bedrock") as (upstream, provider):
        upstream.enqueue(bedrock_refusal(403, "InvalidSignatureException", echoed))

        with pytest.raises(AuthenticationError, match="signature does not match") as caught:
            await ask(provider, QUESTION)

    assert SESSION_TOKEN not in caught.value.message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("throttlingException", RateLimitedError),
        ("validationException", InvalidInputError),
        ("modelTimeoutException", TimeLimitError),
        ("modelStreamErrorException", NetworkError),
        ("internalServerException", NetworkError),
        ("serviceUnavailableException", NetworkError),
    ],
)
async def test_a_bedrock_exception_in_a_stream_becomes_a_junto_error(
    name: str, kind: type[JuntoError]
) -> None:
    async with open_provider("bedrock") as (upstream, provider):
        upstream.enqueue(bedrock_reply([*anthropic_events("a")[:3], exception(name, "because")]))

        with pytest.raises(kind, match="bedrock says: because") as caught:
            await ask(provider, QUESTION)

    assert type(caught.value) is kind


@both_clouds
async def test_an_error_event_in_a_stream_is_raised(cloud: str) -> None:
    busy = {"type": "error", "error": {"type": "rate_limit_error", "message": "busy"}}
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud]([*anthropic_events("a")[:3], busy]))

        with pytest.raises(RateLimitedError, match=f"{cloud} says: busy"):
            await ask(provider, QUESTION)


@both_clouds
@pytest.mark.parametrize("sent_events", [0, 1, 4])
async def test_a_cut_stream_is_a_network_error(cloud: str, sent_events: int) -> None:
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("a", "b", "c"), cut_after=sent_events))

        with pytest.raises(NetworkError, match=f"{cloud} (hung up|broke off)"):
            await ask(provider, QUESTION)


@both_clouds
async def test_a_stream_without_its_final_event_is_a_network_error(cloud: str) -> None:
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("a", "b")[:4]))

        with pytest.raises(NetworkError, match=f"{cloud} broke off before its end"):
            await ask(provider, QUESTION)


async def test_a_truncated_frame_is_a_network_error() -> None:
    truncated = chunk(anthropic_events("a")[0])[:50]
    async with open_provider("bedrock") as (upstream, provider):
        upstream.enqueue(bedrock_reply([truncated]))

        with pytest.raises(NetworkError, match="bedrock broke off before its end"):
            await ask(provider, QUESTION)


@pytest.mark.parametrize(
    ("cloud", "garbage"),
    [
        ("bedrock", b"<html>" * 10),
        ("bedrock", chunk({"type": "ping"})[:-4] + b"\0\0\0\0"),
        ("vertex", b"event: message_start\ndata: {not json}\n\n"),
        ("vertex", b"event: message_start\ndata: [1]\n\n"),
        ("vertex", b"event: error\ndata: {not json}\n\n"),
    ],
)
async def test_an_undecodable_event_is_a_model_error(cloud: str, garbage: bytes) -> None:
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud]([garbage]))

        with pytest.raises(ModelError, match=f"{cloud} sent something that is no event") as caught:
            await ask(provider, QUESTION)

    assert caught.value.retryable


@both_clouds
@pytest.mark.parametrize("reply", [{"hang_before": True}, {"hang_after": 4}], ids=str)
async def test_a_server_that_stops_sending_is_a_timeout_and_is_disconnected(
    cloud: str, reply: Json
) -> None:
    async with open_provider(cloud, Timeouts(read=0.2)) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("a", "b"), **reply))

        with pytest.raises(TimeLimitError, match=f"{cloud} did not answer in time"):
            await ask(provider, QUESTION)

        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), 10)


@both_clouds
@pytest.mark.parametrize("reply", [{"hang_before": True}, {"hang_after": 4}], ids=str)
async def test_the_total_timeout_covers_the_whole_answer(cloud: str, reply: Json) -> None:
    async with open_provider(cloud, Timeouts(total=0.5)) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("a", "b"), **reply))

        with pytest.raises(TimeLimitError, match=f"{cloud} did not answer in time"):
            await ask(provider, QUESTION)


@both_clouds
@pytest.mark.parametrize("reply", [{"hang_before": True}, {"hang_after": 4}], ids=str)
async def test_cancelling_closes_the_connection(cloud: str, reply: Json) -> None:
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("a", "b"), **reply))
        task = asyncio.create_task(ask(provider, QUESTION))
        await upstream.arrived.wait()

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), 10)


@both_clouds
async def test_closing_the_stream_closes_the_connection(cloud: str) -> None:
    async with open_provider(cloud) as (upstream, provider):
        upstream.enqueue(REPLIES[cloud](anthropic_events("a", "b"), hang_after=5))

        async with contextlib.aclosing(provider.stream(QUESTION)) as events:
            assert await anext(events) == TextDelta("a")

        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), 10)


@both_clouds
async def test_an_unreachable_server_is_reported_without_its_address(cloud: str) -> None:
    async with open_account(cloud, "http://user:pw@127.0.0.1:1") as account:
        with pytest.raises(NetworkError, match=f"{cloud} could not be reached") as caught:
            await ask(CloudProvider(account, Capabilities(), DEFAULT_TIMEOUTS), QUESTION)

    assert "127.0.0.1" not in caught.value.message
    assert "pw" not in caught.value.message


async def test_bedrock_without_credentials_says_where_to_get_them() -> None:
    async with open_bedrock(region="r-2", base_url="http://127.0.0.1:1") as account:
        with pytest.raises(AuthenticationError, match="aws configure"):
            await ask(CloudProvider(account, Capabilities(), DEFAULT_TIMEOUTS), QUESTION)


async def test_vertex_without_credentials_says_where_to_get_them() -> None:
    async with open_vertex(region="r-2", project_id="p", base_url="http://127.0.0.1:1") as account:
        with pytest.raises(AuthenticationError, match="gcloud auth"):
            await ask(CloudProvider(account, Capabilities(), DEFAULT_TIMEOUTS), QUESTION)


@pytest.mark.parametrize(
    "unusable",
    [
        open_bedrock(),
        open_bedrock(region="r-1", base_url=f"http://{SECRET_KEY}:{SECRET_KEY}"),
        open_vertex(),
        open_vertex(region="r-1"),
        open_vertex(region="r-1", project_id="p", base_url=f"http://{SECRET_KEY}:{SECRET_KEY}"),
    ],
)
async def test_incomplete_or_invalid_settings_fail_before_the_first_question(
    unusable: contextlib.AbstractAsyncContextManager[CloudAccount],
) -> None:
    with pytest.raises(ConfigurationError, match="needs a region") as caught:
        await unusable.__aenter__()

    assert SECRET_KEY not in caught.value.message


async def test_keys_in_two_places_fail_before_the_first_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", ACCESS_TOKEN)

    with pytest.raises(ConfigurationError, match="not in both") as caught:
        await open_account("bedrock", "http://127.0.0.1:1").__aenter__()

    assert not any(secret in caught.value.message for secret in SECRETS)


@pytest.mark.parametrize(
    ("cloud", "missing"),
    [
        ("bedrock", "anthropic"),
        ("bedrock", "boto3"),
        ("vertex", "anthropic"),
        ("vertex", "google.auth.transport.requests"),
    ],
)
async def test_a_missing_extra_is_named(
    cloud: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(ConfigurationError, match=rf"pip install 'junto\[{cloud}\]'"):
        await open_account(cloud, "http://127.0.0.1:1").__aenter__()


def test_the_sdk_is_not_imported_before_it_is_needed() -> None:
    program = (
        "import sys, junto.providers.http.bedrock_vertex;"
        "print(*sorted({'anthropic', 'boto3', 'google.auth', 'httpx2'} & set(sys.modules)))"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert result.stdout.strip() == b""


@both_clouds
async def test_a_cloud_model_is_asked_according_to_its_settings(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(REPLIES[cloud](anthropic_events("Hello")))
        section = {"region": "r-1", "base_url": upstream.url}
        project = {"project": "p1"} if cloud == "vertex" else {}
        entry = {"id": "cloudy", "provider": cloud, "modelName": "claude-m-v1:0"}
        key = {"apiKey": ACCESS_TOKEN} if cloud == "vertex" else {}
        settings = Settings.model_validate(
            {"models": [entry | key], "providers": {cloud: section | project}}
        )
        catalog = build_catalog(settings, tmp_path)
        async with open_council_with_usage(settings, catalog, tmp_path) as (council, _):
            answer = await ask(council, Question(model="cloudy", messages=(Message.user("Hi"),)))

    assert (answer.message.text, answer.model) == ("Hello", "cloudy")
    assert upstream.requests[0].path == PATHS[cloud]
