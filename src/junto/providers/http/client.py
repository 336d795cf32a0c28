"""The HTTP client for all providers: connection pool, timeouts, and server-sent events."""

import asyncio
import contextlib
import io
import math
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
from junto.providers.codecs.codec import Codec, Json, error_from_status

_DONE_MARKER = b"[DONE]"
_MAX_INLINE_BODY_BYTES = 512 * 1024
_MAX_ERROR_BYTES = 64 * 1024
_MAX_JSON_BYTES = 4 * 1024 * 1024
_MAX_EVENT_BYTES = 4 * 1024 * 1024
_MAX_STREAM_BYTES = 256 * 1024 * 1024
_PAUSE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The URL and headers of a provider. The headers hold its key, so never log them."""

    provider: str
    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds: to connect, between two reads, and for the whole answer."""

    connect: float = 10
    read: float = 60
    total: float = 120

    def to_aiohttp(self) -> aiohttp.ClientTimeout:
        """Return the timeouts as aiohttp's class."""
        return aiohttp.ClientTimeout(
            total=self.total, sock_connect=self.connect, sock_read=self.read
        )


@dataclass(frozen=True, slots=True)
class HttpClient:
    """A client that streams events and fetches JSON over shared connections."""

    session: aiohttp.ClientSession

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, max_connections: int = 100, *, socket_path: Path | None = None
    ) -> AsyncIterator["HttpClient"]:
        """Open the connection pool, and close it on exit.

        With `socket_path`, all connections go to that Unix socket.
        """
        connector: aiohttp.BaseConnector = (
            # llama.cpp announces keep-alive after a stream, but closes the connection.
            aiohttp.UnixConnector(str(socket_path), limit=max_connections, force_close=True)
            if socket_path
            else aiohttp.TCPConnector(limit=max_connections, limit_per_host=0)
        )
        # Cookies that a provider sets for one caller must not be sent for the next.
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(connector=connector, cookie_jar=jar) as session:
            yield cls(session)

    async def stream_events(
        self,
        endpoint: Endpoint,
        body: Json,
        codec: Codec,
        timeouts: Timeouts,
        max_bytes: int = _MAX_STREAM_BYTES,
    ) -> AsyncGenerator[Mapping[str, Any]]:
        """Post `body` and yield each event of the response as it arrives.

        Leaving the iteration, for any reason, closes the connection.

        Raises:
            JuntoError: the provider rejected the request, was unreachable, hung up, or sent more
                than `max_bytes`.
        """
        with _translate_errors(endpoint.provider):
            async with self._post(endpoint, body, timeouts) as response:
                try:
                    await _raise_for_status(response, codec)
                    async for event in _iter_events(response, endpoint.provider, max_bytes):
                        yield event
                except BaseException:
                    response.close()  # no reuse: the provider may still be sending
                    raise

    async def get_json(self, endpoint: Endpoint, timeouts: Timeouts) -> Any:
        """Fetch JSON from an endpoint.

        Raises:
            JuntoError: the provider rejected the request, was unreachable, or sent no JSON.
        """
        with _translate_errors(endpoint.provider):
            async with self.session.get(
                endpoint.url,
                headers=endpoint.headers,
                timeout=timeouts.to_aiohttp(),
                allow_redirects=False,
            ) as response:
                if response.status != 200:  # noqa: PLR2004 - HTTP status
                    raise error_from_status(endpoint.provider, response.status, "")
                return await _read_json(response, endpoint.provider)

    async def post_json(
        self, endpoint: Endpoint, body: Json, codec: Codec, timeouts: Timeouts
    ) -> Any:
        """Post `body` and return the JSON of the response.

        Raises:
            JuntoError: the provider rejected the request, was unreachable, or sent no JSON.
        """
        with _translate_errors(endpoint.provider):
            async with self._post(endpoint, body, timeouts) as response:
                await _raise_for_status(response, codec)
                return await _read_json(response, endpoint.provider)

    def _post(
        self, endpoint: Endpoint, body: Json, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self.session.post(
            endpoint.url,
            data=_encode_body(body),
            headers={"content-type": "application/json", **endpoint.headers},
            timeout=timeouts.to_aiohttp(),
            allow_redirects=False,
        )


@contextlib.contextmanager
def _translate_errors(provider: str) -> Iterator[None]:
    """Raise network errors as domain errors."""
    try:
        yield
    except TimeoutError:
        raise TimeLimitError(f"{provider} did not answer in time.") from None
    except aiohttp.ClientConnectorError as error:
        raise NetworkError(
            f"{provider} could not be reached ({_describe_connect_error(error)})."
        ) from None
    except aiohttp.InvalidURL:
        raise ConfigurationError(f"{provider} has no address. Check its base_url.") from None
    except (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError):
        raise NetworkError(f"{provider} hung up before its answer was whole.") from None


def _describe_connect_error(error: aiohttp.ClientConnectorError) -> str:
    # The error's own message contains the URL, which may hold a password.
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    if isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    return os.strerror(error.errno) if error.errno and error.errno > 0 else "no connection"


async def _iter_events(
    response: aiohttp.ClientResponse, provider: str, max_bytes: int
) -> AsyncGenerator[Mapping[str, Any]]:
    reader = SseReader()
    received = unpaused = 0
    try:
        async for chunk in response.content.iter_any():
            for data in reader.feed(chunk):
                if data != _DONE_MARKER:
                    yield _decode_event(data, provider)
            received += len(chunk)
            unpaused += len(chunk)
            if received > max_bytes:
                raise ModelError(
                    f"{provider} sent more than {max_bytes // 1024**2} MiB for one answer, so it "
                    "was stopped. Ask for less, or use another model."
                )
            if unpaused > _PAUSE_BYTES:
                # Data that has arrived already is read without giving way to other calls.
                unpaused = 0
                await asyncio.sleep(0)
        for data in reader.finish():
            if data != _DONE_MARKER:
                yield _decode_event(data, provider)
    except EventTooLongError:
        raise ModelError(f"{provider} sent an event that does not end.") from None


def _decode_event(data: bytes, provider: str) -> Mapping[str, Any]:
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        event = None
    if not isinstance(event, dict):
        raise ModelError(f"{provider} sent something that is no event.", retryable=True)
    return event


def _encode_body(body: Json) -> bytes | io.BytesIO:
    try:
        data = orjson.dumps(body)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError(
            "The question holds something that cannot be sent as JSON: half a character, a number "
            "beyond 64 bits, or too many levels."
        ) from None
    # aiohttp sends a file in chunks, so a large body does not block the event loop.
    return io.BytesIO(data) if len(data) > _MAX_INLINE_BODY_BYTES else data


async def _raise_for_status(response: aiohttp.ClientResponse, codec: Codec) -> None:
    if response.status != 200:  # noqa: PLR2004 - HTTP status
        body = await read_body(response, _MAX_ERROR_BYTES)
        raise codec.decode_error(response.status, body, parse_retry_after(response.headers))


async def _read_json(response: aiohttp.ClientResponse, provider: str) -> Any:
    body = await read_body(response, _MAX_JSON_BYTES)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ModelError(f"{provider} sent no JSON.", retryable=True) from None


async def read_body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Return at most the first `max_bytes` of a body."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > max_bytes:
            break
    return bytes(body[:max_bytes])


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the delay in seconds that a provider requests, in any of the usual formats."""
    with contextlib.suppress(ValueError):
        return _to_delay(float(headers.get("retry-after-ms", "")) / 1000)
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return _to_delay(float(value))
    with contextlib.suppress(ValueError, OverflowError):
        retry_at = parsedate_to_datetime(value)
        retry_at = retry_at if retry_at.tzinfo else retry_at.replace(tzinfo=UTC)
        return _to_delay((retry_at - datetime.now(UTC)).total_seconds())
    return None


def _to_delay(seconds: float) -> float | None:
    return max(0.0, seconds) if math.isfinite(seconds) else None


class EventTooLongError(ValueError):
    """An event exceeds the maximum size."""


class SseReader:
    """A parser for server-sent events that accepts chunks of any size."""

    def __init__(self) -> None:
        self._buffer: list[bytes] = []
        self._buffered_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of each event that `chunk` completes.

        Raises:
            EventTooLongError: an event exceeds the maximum size.
        """
        # Joined only when a line ends, because a long one comes in many chunks.
        self._buffer.append(chunk)
        self._buffered_bytes += len(chunk)
        if b"\n" not in chunk:
            if self._buffered_bytes > _MAX_EVENT_BYTES:
                raise EventTooLongError
            return
        *lines, rest = b"".join(self._buffer).split(b"\n")
        self._buffer, self._buffered_bytes = [rest], len(rest)
        for line in lines:
            line = line.rstrip(b"\r")  # noqa: PLW2901 - the same line without its ending
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
                self._data_bytes += len(line)
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()
                self._data_bytes = 0
        if self._buffered_bytes + self._data_bytes > _MAX_EVENT_BYTES:
            raise EventTooLongError

    def finish(self) -> Iterator[bytes]:
        """Yield the last event if the stream ended without the blank line after it."""
        yield from self.feed(b"\n\n")
