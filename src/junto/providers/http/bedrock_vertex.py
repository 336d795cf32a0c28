"""Claude in a cloud, Amazon Bedrock or Google Vertex AI, through Anthropic's own SDK."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import orjson
from typing_extensions import override

from junto.domain.errors import (
    AuthenticationError,
    ConfigurationError,
    JuntoError,
    ModelError,
    NetworkError,
    TimeLimitError,
)
from junto.domain.models import Capabilities
from junto.domain.questions import Event, Question
from junto.providers.dialects.anthropic import AnthropicCodec
from junto.providers.dialects.failures import failure
from junto.providers.dialects.folding import Json
from junto.providers.provider import Provider
from junto.providers.wiring.wire import Patience, retry_after

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropicBedrock, AsyncAnthropicVertex, AsyncStream

# Left to itself, the SDK asks for 2026-10-21, which takes no temperature and which the models that
# Bedrock knows by dated names refuse. These two are what the clouds document.
_VERSIONS = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
_SIGN_IN = {
    "bedrock": "Give it an access key and a secret key, or sign in with `aws configure`.",
    "vertex": "Give it an access token, or run `gcloud auth application-default login`.",
}
# AWS's names for what may go wrong inside a stream, in Anthropic's; the rest counts as api_error.
_KINDS = {
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
    "modelTimeoutException": "timeout_error",
}
_MODEL_FAILED = 424  # Bedrock: not the question's fault
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Account:
    """An open client of one cloud; it holds the keys, so none of this is ever shown."""

    provider: str
    client: "AsyncAnthropicBedrock | AsyncAnthropicVertex"
    errors: tuple[type[Exception], ...]  # those of the cloud's own library


@asynccontextmanager
async def bedrock(
    *,
    region: str | None = None,
    base_url: str | None = None,
    access_key: str | None = None,
    secret_key: str | None = None,
    session_token: str | None = None,
) -> AsyncIterator[Account]:
    """Open a client of Amazon Bedrock, and close it at the end of the block.

    What is not given is looked for where AWS's own tools look: environment, profile, role.

    Raises:
        ConfigurationError: the extra is not installed, or the settings do not suffice.
    """

    def opened() -> Account:
        import httpx2
        from anthropic import AsyncAnthropicBedrock

        import_module("boto3")
        boto, frames = import_module("botocore.exceptions"), import_module("botocore.eventstream")
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
        return Account(
            "bedrock", client, (boto.BotoCoreError, boto.ClientError, frames.ParserError)
        )

    account = await _opened("bedrock", opened)
    async with account.client:
        yield account


@asynccontextmanager
async def vertex(
    *,
    region: str | None = None,
    project_id: str | None = None,
    base_url: str | None = None,
    access_token: str | None = None,
) -> AsyncIterator[Account]:
    """Open a client of Google Vertex AI, and close it at the end of the block.

    Without a token, Google's application default credentials are used.

    Raises:
        ConfigurationError: the extra is not installed, or the settings do not suffice.
    """

    def opened() -> Account:
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
        return Account("vertex", client, (import_module("google.auth.exceptions").GoogleAuthError,))

    account = await _opened("vertex", opened)
    async with account.client:
        yield account


async def _opened(provider: str, opened: Callable[[], Account]) -> Account:
    try:
        return await asyncio.to_thread(opened)  # importing the SDK alone takes a second
    except ImportError:
        raise ConfigurationError(
            f"{provider} needs a library that is not installed: pip install 'junto[{provider}]'"
        ) from None


@dataclass(frozen=True, slots=True)
class Cloud(Provider):
    """One model of Claude in one cloud."""

    account: Account
    capabilities: Capabilities
    patience: Patience

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        codec = AnthropicCodec(self.account.provider)
        body = codec.encode(question, self.capabilities)
        fold = codec.fold(question)
        async with aclosing(self._events(body)) as events:
            async for data in events:
                for event in fold.feed(data):
                    yield event
        for event in fold.ended():
            yield event

    async def _events(self, body: Json) -> AsyncGenerator[Mapping[str, Any]]:
        deadline = asyncio.get_running_loop().time() + self.patience.total
        async with await self._posted(body, deadline) as stream:
            while (event := await self._next(stream, deadline)) is not None:
                yield event

    async def _posted(self, body: Json, deadline: float) -> "AsyncStream[object]":
        import httpx2
        from anthropic import APIStatusError, AsyncStream

        provider = self.account.provider
        locked_out: tuple[type[Exception], ...] = (RuntimeError, *self.account.errors)
        wait = httpx2.Timeout(self.patience.read, connect=self.patience.connect)
        try:
            async with _waiting(provider, deadline):
                # The SDK moves model and stream to where the cloud wants them, and signs.
                return await self.account.client.post(
                    "/v1/messages",
                    body={"anthropic_version": _VERSIONS[provider], **body},
                    options={"timeout": wait, "follow_redirects": False},
                    cast_to=object,
                    stream=True,
                    stream_cls=AsyncStream[object],
                )
        except APIStatusError as error:
            raise _refusal(provider, error) from None
        except locked_out:
            raise AuthenticationError(
                f"{provider} has no credentials that can be used. {_SIGN_IN[provider]}"
            ) from None

    async def _next(
        self, stream: "AsyncStream[object]", deadline: float
    ) -> Mapping[str, Any] | None:
        from anthropic import APIStatusError

        provider = self.account.provider
        garbled: tuple[type[Exception], ...] = (ValueError, *self.account.errors)
        try:
            async with _waiting(provider, deadline):
                event = await anext(stream, None)
        except APIStatusError as error:  # an error event, which the codec understands
            event = _renamed(error.body)
        except garbled:
            event = "garbage"
        if event is None or isinstance(event, dict):
            return event
        raise ModelError(f"{provider} sent something that is no event.", retryable=True)


@asynccontextmanager
async def _waiting(provider: str, deadline: float) -> AsyncIterator[None]:
    """Wait for the network until `deadline`, and say as our errors what it does meanwhile."""
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


def _refusal(provider: str, error: "APIStatusError") -> JuntoError:
    status = _SERVER_ERROR if error.status_code == _MODEL_FAILED else error.status_code
    message = _message(error.response.content)
    return failure(provider, status, message, retry_after(error.response.headers))


def _message(body: bytes) -> str:
    """Return the sentence in an error: AWS has it on top, Google at times puts a list around it."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    match said:
        case (
            {"error": {"message": str(message)}}
            | [{"error": {"message": str(message)}}, *_]
            | {"message": str(message)}
            | {"Message": str(message)}
        ):
            # After the first line, AWS may show the request that it expected, tokens included.
            return message.partition("\n")[0]
        case _:
            return ""


def _renamed(event: object) -> object:
    match event:
        case {"error": {"type": str(kind), "message": message}}:
            error = {"type": _KINDS.get(kind, kind), "message": message}
            return {"type": "error", "error": error}
        case _:
            return event
