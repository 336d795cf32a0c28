"""Claude on Amazon Bedrock and Google Vertex AI, through Anthropic's SDK."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import orjson
from typing_extensions import override

from junto.domain.completions import Event, Question
from junto.domain.errors import (
    AuthenticationError,
    ConfigurationError,
    JuntoError,
    ModelError,
    NetworkError,
    TimeLimitError,
)
from junto.domain.models import Capabilities
from junto.providers.answer_cap import AnswerCap
from junto.providers.codecs.anthropic import AnthropicCodec
from junto.providers.codecs.codec import Json, error_from_status
from junto.providers.http.client import Timeouts, parse_retry_after
from junto.providers.provider import Provider

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropicBedrock, AsyncAnthropicVertex, AsyncStream

# By default, the SDK requests version 2026-10-21, which accepts no temperature and which Bedrock's
# models with dated names reject. These are the versions that the clouds document.
_ANTHROPIC_VERSIONS = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
_SIGN_IN_HINTS = {
    "bedrock": "Give it an access key and a secret key, or sign in with `aws configure`.",
    "vertex": "Give it an access token, or run `gcloud auth application-default login`.",
}
# AWS's error types inside a stream, as Anthropic's; all others are treated as api_error.
_AWS_ERROR_TYPES = {
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
    "modelTimeoutException": "timeout_error",
}
_BEDROCK_MODEL_ERROR = 424  # the model failed, not the request
_HTTP_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class CloudAccount:
    """An open client for one cloud. It holds credentials, so never log it."""

    provider: str
    client: "AsyncAnthropicBedrock | AsyncAnthropicVertex"
    sdk_errors: tuple[type[Exception], ...]  # exceptions of the cloud's own library


@asynccontextmanager
async def open_bedrock(
    *,
    region: str | None = None,
    base_url: str | None = None,
    access_key: str | None = None,
    secret_key: str | None = None,
    session_token: str | None = None,
) -> AsyncIterator[CloudAccount]:
    """Open a client for Amazon Bedrock, and close it on exit.

    Omitted values are looked up as AWS's own tools do: in the environment, profile and role.

    Raises:
        ConfigurationError: the extra is not installed, or the settings are incomplete or invalid.
    """

    def create_account() -> CloudAccount:
        import httpx2
        from anthropic import AsyncAnthropicBedrock

        import_module("boto3")
        boto, eventstream = (
            import_module("botocore.exceptions"),
            import_module("botocore.eventstream"),
        )
        try:
            client = AsyncAnthropicBedrock(
                aws_region=region,
                base_url=base_url,
                aws_access_key=access_key,
                aws_secret_key=secret_key,
                aws_session_token=session_token,
                max_retries=0,
                open_telemetry=False,
            )
        except (ValueError, httpx2.InvalidURL, boto.BotoCoreError):
            raise ConfigurationError(
                "bedrock cannot be set up: it needs a region, a base URL that is one if any, and"
                " keys either in the settings or in AWS_BEARER_TOKEN_BEDROCK, not in both."
            ) from None
        return CloudAccount(
            "bedrock", client, (boto.BotoCoreError, boto.ClientError, eventstream.ParserError)
        )

    account = await _create_in_thread("bedrock", create_account)
    async with account.client:
        yield account


@asynccontextmanager
async def open_vertex(
    *,
    region: str | None = None,
    project_id: str | None = None,
    base_url: str | None = None,
    access_token: str | None = None,
) -> AsyncIterator[CloudAccount]:
    """Open a client for Google Vertex AI, and close it on exit.

    Without a token, Google's application default credentials are used.

    Raises:
        ConfigurationError: the extra is not installed, or the settings are incomplete or invalid.
    """

    def create_account() -> CloudAccount:
        import httpx2
        from anthropic import AsyncAnthropicVertex, not_given

        import_module("google.auth.transport.requests")
        try:
            client = AsyncAnthropicVertex(
                region=region or not_given,
                project_id=project_id or not_given,
                base_url=base_url,
                access_token=access_token,
                max_retries=0,
                open_telemetry=False,
            )
        except (ValueError, httpx2.InvalidURL):
            client = None
        if client is None or client.project_id is None:
            raise ConfigurationError(
                "vertex cannot be set up: it needs a region, a project id, and a base URL that is"
                " one if any."
            )
        return CloudAccount(
            "vertex", client, (import_module("google.auth.exceptions").GoogleAuthError,)
        )

    account = await _create_in_thread("vertex", create_account)
    async with account.client:
        yield account


async def _create_in_thread(
    provider: str, create_account: Callable[[], CloudAccount]
) -> CloudAccount:
    try:
        return await asyncio.to_thread(create_account)  # importing the SDK takes a second
    except ImportError:
        raise ConfigurationError(
            f"{provider} needs a library that is not installed: pip install 'junto[{provider}]'"
        ) from None


@dataclass(frozen=True, slots=True)
class CloudProvider(Provider):
    """A Claude model in one cloud."""

    account: CloudAccount
    capabilities: Capabilities
    timeouts: Timeouts
    max_answer_chars: int | None = None

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        codec = AnthropicCodec(self.account.provider)
        body = codec.encode(question, self.capabilities)
        decoder = codec.create_decoder(question)
        cap = AnswerCap.for_question(question, self.max_answer_chars)
        async with aclosing(self._stream_events(body)) as events:
            async for data in events:
                for event in cap.apply(decoder.feed(data), question.model):
                    yield event
                if cap.is_reached:
                    return
        for event in decoder.finish():
            yield event

    async def _stream_events(self, body: Json) -> AsyncGenerator[Mapping[str, Any]]:
        deadline = asyncio.get_running_loop().time() + self.timeouts.total
        async with await self._post(body, deadline) as stream:
            while (event := await self._read_event(stream, deadline)) is not None:
                yield event

    async def _post(self, body: Json, deadline: float) -> "AsyncStream[object]":
        import httpx2
        from anthropic import APIStatusError, AsyncStream

        provider = self.account.provider
        credential_errors: tuple[type[Exception], ...] = (RuntimeError, *self.account.sdk_errors)
        timeout = httpx2.Timeout(self.timeouts.read, connect=self.timeouts.connect)
        try:
            async with _translate_errors(provider, deadline):
                # The SDK moves `model` and `stream` to where the cloud expects them, and signs.
                return await self.account.client.post(
                    "/v1/messages",
                    body={"anthropic_version": _ANTHROPIC_VERSIONS[provider], **body},
                    options={"timeout": timeout, "follow_redirects": False},
                    cast_to=object,
                    stream=True,
                    stream_cls=AsyncStream[object],
                )
        except APIStatusError as error:
            raise _build_status_error(provider, error) from None
        except credential_errors:
            raise AuthenticationError(
                f"{provider} has no credentials that can be used. {_SIGN_IN_HINTS[provider]}"
            ) from None

    async def _read_event(
        self, stream: "AsyncStream[object]", deadline: float
    ) -> Mapping[str, Any] | None:
        from anthropic import APIStatusError

        provider = self.account.provider
        decoding_errors: tuple[type[Exception], ...] = (ValueError, *self.account.sdk_errors)
        try:
            async with _translate_errors(provider, deadline):
                event = await anext(stream, None)
        except APIStatusError as error:  # an error event, which the codec decodes
            event = _normalize_error_event(error.body)
        except decoding_errors:
            event = "garbage"
        if event is None or isinstance(event, dict):
            return event
        raise ModelError(f"{provider} sent something that is no event.", retryable=True)


@asynccontextmanager
async def _translate_errors(provider: str, deadline: float) -> AsyncIterator[None]:
    """Enforce `deadline`, and raise network errors as domain errors."""
    import httpx2
    from anthropic import APIConnectionError, APITimeoutError

    try:
        async with asyncio.timeout_at(deadline):
            yield
    except (TimeoutError, APITimeoutError, httpx2.TimeoutException):
        raise TimeLimitError(f"{provider} did not answer in time.") from None
    except (APIConnectionError, httpx2.HTTPError) as error:
        if isinstance(error.__cause__, httpx2.ConnectError):
            raise NetworkError(f"{provider} could not be reached.") from None
        raise NetworkError(f"{provider} hung up before its answer was whole.") from None


def _build_status_error(provider: str, error: "APIStatusError") -> JuntoError:
    status = _HTTP_SERVER_ERROR if error.status_code == _BEDROCK_MODEL_ERROR else error.status_code
    message = _extract_error_message(error.response.content)
    return error_from_status(provider, status, message, parse_retry_after(error.response.headers))


def _extract_error_message(body: bytes) -> str:
    """Return the message of an error: at the top level for AWS, maybe in a list for Google."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    match content:
        case (
            {"error": {"message": str(message)}}
            | [{"error": {"message": str(message)}}, *_]
            | {"message": str(message)}
            | {"Message": str(message)}
        ):
            # After the first line, AWS may quote the request it expected, including tokens.
            return message.partition("\n")[0]
        case _:
            return ""


def _normalize_error_event(event: object) -> object:
    match event:
        case {"error": {"type": str(kind), "message": message}}:
            error = {"type": _AWS_ERROR_TYPES.get(kind, kind), "message": message}
            return {"type": "error", "error": error}
        case _:
            return event
