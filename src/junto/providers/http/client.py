"""One HTTP client for every provider: a pool of connections, timeouts, and streams of JSON."""

import asyncio
import contextlib
import io
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from junto.domain.errors import (
    ConfigurationError,
    InvalidInputError,
    ModelError,
    NetworkError,
    TimeLimitError,
)
from junto.providers.dialects.failures import failure
from junto.providers.dialects.folding import Codec, Json
from junto.providers.wiring.sse import EventTooLongError, SseReader

_DONE = b"[DONE]"
_LARGE = 512 * 1024
_MOST_ERROR_BYTES = 64 * 1024
_MOST_DOCUMENT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a provider is reached; the headers hold its key, so none of this is ever shown."""

    provider: str
    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait, in seconds: for a connection, for the next bytes, for the whole answer."""

    connect: float = 10
    read: float = 60
    total: float = 120

    def timeout(self) -> aiohttp.ClientTimeout:
        """Return it as the client wants it."""
        return aiohttp.ClientTimeout(
            total=self.total, sock_connect=self.connect, sock_read=self.read
        )


@dataclass(frozen=True, slots=True)
class Wire:
    """Streams of events and whole documents from providers, over shared connections."""

    session: aiohttp.ClientSession

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(
        cls, connections: int = 100, *, socket: Path | None = None
    ) -> AsyncIterator["Wire"]:
        """Open the pool, and close it at the end of the block; a `socket` is all it connects to."""
        connector: aiohttp.BaseConnector = (
            # llama.cpp promises to keep a connection after a stream, and then hangs up.
            aiohttp.UnixConnector(str(socket), limit=connections, force_close=True)
            if socket
            else aiohttp.TCPConnector(limit=connections, limit_per_host=0)
        )
        # What a provider sets as a cookie for one caller is nothing to the next.
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(connector=connector, cookie_jar=jar) as session:
            yield cls(session)

    async def events(
        self, endpoint: Endpoint, body: Json, codec: Codec, patience: Patience
    ) -> AsyncGenerator[Mapping[str, Any]]:
        """Post `body` and yield each event of the answer as it arrives.

        Leaving the iteration, for whatever reason, closes the connection.

        Raises:
            JuntoError: the provider refused, could not be reached, or hung up.
        """
        with _reported(endpoint.provider):
            async with self._posted(endpoint, body, patience) as response:
                try:
                    await _accepted(response, codec)
                    async for event in _events(response, endpoint.provider):
                        yield event
                except BaseException:
                    response.close()  # not back into the pool: the provider may still be talking
                    raise

    async def document(self, endpoint: Endpoint, patience: Patience) -> Any:
        """Return the JSON at an endpoint.

        Raises:
            JuntoError: the provider refused, could not be reached, or sent something else.
        """
        with _reported(endpoint.provider):
            async with self.session.get(
                endpoint.url,
                headers=endpoint.headers,
                timeout=patience.timeout(),
                allow_redirects=False,
            ) as response:
                if response.status != 200:  # noqa: PLR2004 - HTTP's own number
                    raise failure(endpoint.provider, response.status, "")
                return await _document(response, endpoint.provider)

    async def post(self, endpoint: Endpoint, body: Json, codec: Codec, patience: Patience) -> Any:
        """Post `body` and return the JSON that comes back.

        Raises:
            JuntoError: the provider refused, could not be reached, or sent something else.
        """
        with _reported(endpoint.provider):
            async with self._posted(endpoint, body, patience) as response:
                await _accepted(response, codec)
                return await _document(response, endpoint.provider)

    def _posted(
        self, endpoint: Endpoint, body: Json, patience: Patience
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self.session.post(
            endpoint.url,
            data=_encoded(body),
            headers={"content-type": "application/json", **endpoint.headers},
            timeout=patience.timeout(),
            allow_redirects=False,
        )


@contextlib.contextmanager
def _reported(provider: str) -> Iterator[None]:
    """Turn what can go wrong on the way into our errors."""
    try:
        yield
    except TimeoutError:
        raise TimeLimitError(f"{provider} did not answer in time.") from None
    except aiohttp.ClientConnectorError as error:
        raise NetworkError(f"{provider} could not be reached ({_reason(error)}).") from None
    except aiohttp.InvalidURL:
        raise ConfigurationError(f"{provider} has no address. Check its base_url.") from None
    except (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError):
        raise NetworkError(f"{provider} hung up before its answer was whole.") from None


def _reason(error: aiohttp.ClientConnectorError) -> str:
    # The error's own words name the address, which may hold a password.
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    if isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    return os.strerror(error.errno) if error.errno and error.errno > 0 else "no connection"


async def _events(
    response: aiohttp.ClientResponse, provider: str
) -> AsyncGenerator[Mapping[str, Any]]:
    reader = SseReader()
    try:
        async for chunk in response.content.iter_any():
            for data in reader.feed(chunk):
                if data != _DONE:
                    yield _decoded(data, provider)
        for data in reader.end():
            if data != _DONE:
                yield _decoded(data, provider)
    except EventTooLongError:
        raise ModelError(f"{provider} sent an event that does not end.") from None


def _decoded(data: bytes, provider: str) -> Mapping[str, Any]:
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        event = None
    if not isinstance(event, dict):
        raise ModelError(f"{provider} sent something that is no event.", retryable=True)
    return event


def _encoded(body: Json) -> bytes | io.BytesIO:
    try:
        data = orjson.dumps(body)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError(
            "The question holds something that cannot be sent as JSON: half a character, a number "
            "beyond 64 bits, or too many levels."
        ) from None
    # A file is sent piece by piece, so that others get their turn meanwhile.
    return io.BytesIO(data) if len(data) > _LARGE else data


async def _accepted(response: aiohttp.ClientResponse, codec: Codec) -> None:
    if response.status != 200:  # noqa: PLR2004 - HTTP's own number
        body = await _whole(response, _MOST_ERROR_BYTES)
        raise codec.error(response.status, body, retry_after(response.headers))


async def _document(response: aiohttp.ClientResponse, provider: str) -> Any:
    body = await _whole(response, _MOST_DOCUMENT_BYTES)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ModelError(f"{provider} sent no JSON.", retryable=True) from None


async def _whole(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Return a body, or as much of it as anybody wants to read."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most:
            break
    return bytes(body[:most])


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a provider asks us to wait, in each of the ways to say it."""
    with contextlib.suppress(ValueError):
        return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
    said = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(said))
    with contextlib.suppress(ValueError):
        moment = parsedate_to_datetime(said)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return None
