"""The stdio transport: serves one client over a pair of file descriptors."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from junto.telemetry.logs import Log
from junto.transport.inflight import CANCELLED_METHOD
from junto.transport.line_io import LineReader, LineTooLong, LineWriter, open_reader, open_writer
from junto.transport.messages import ErrorReply, Message, encode_message, parse_message
from junto.transport.shutdown import Shutdown

_log = Log.get("transport")

_MAX_PENDING_CALLS = 10_000  # bounds memory; bursts of thousands of calls are legitimate
_INITIALIZED = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")


async def serve_stdio(
    server: Server[Any],
    fds: tuple[int, int],
    shutdown: Shutdown,
    *,
    drain_seconds: float,
    max_line_bytes: int,
) -> None:
    """Serve one client on `fds` until it closes them or a shutdown signal arrives.

    Calls already accepted are finished and answered first, for up to `drain_seconds`.
    """
    async with open_writer(fds[1]) as writer, open_reader(fds[0], max_line_bytes) as reader:
        connection = _StdioConnection(reader, writer, drain_seconds)
        async with aclosing(connection.iter_messages()) as messages:
            shutdown.set_listener(connection.stop)
            await server.run(
                _ReceiveStream(messages),
                _SendStream(connection),
                server.create_initialization_options(),
            )


@dataclass
class _StdioConnection:
    """The connection to one client: reads and writes messages and tracks pending requests."""

    reader: LineReader
    writer: LineWriter
    drain_seconds: float
    # Request ids as the SDK compares them: 7 and "7" are equal.
    pending_ids: set[int | str] = field(default_factory=set)
    has_started: bool = False
    has_given_up: bool = False
    # Set while no request is pending, or when the connection stops waiting for them.
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.idle.set()
        self.reader.on_end = self._on_input_end
        # Without output no request can be answered, so no more are accepted.
        self.writer.on_lost = self.reader.stop

    def stop(self) -> None:
        """Accept no more requests; if called again, stop waiting for pending ones too."""
        if self.reader.has_ended:
            self._give_up()
        self.reader.stop()

    def _on_input_end(self) -> None:
        asyncio.get_running_loop().call_later(self.drain_seconds, self._give_up)

    def _give_up(self) -> None:
        """Stop waiting for pending calls and for a client that does not read."""
        self.has_given_up = True
        self.idle.set()
        self.writer.abort_if_blocked()

    async def iter_messages(self) -> AsyncGenerator[Message]:
        """Yield the client's messages; when the input ends, wait for pending requests."""
        while not self.has_given_up and (line := await self.reader.next()) is not None:
            if isinstance(line, LineTooLong):
                await self._refuse(ErrorReply(INVALID_REQUEST, "The message is too long."))
            else:
                for message in await self._accept(parse_message(line)):
                    yield message
        await self._drain()

    async def send(self, message: Message) -> None:
        """Send one message to the client."""
        try:
            await self.writer.write(encode_message(message))
        finally:
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._mark_done(message.id)

    async def _accept(self, message: Message | ErrorReply) -> list[Message]:
        """Return the messages to hand to the SDK: none if the message is rejected.

        A client's first request without a handshake is preceded by a synthetic `initialized`.
        """
        if isinstance(message, ErrorReply):
            await self._refuse(message)
            return []
        if isinstance(message, JSONRPCNotification) and message.method == CANCELLED_METHOD:
            # A cancelled request is never answered.
            self._mark_done((message.params or {}).get("requestId"))
        if not isinstance(message, JSONRPCRequest):
            return [message]
        if len(self.pending_ids) >= _MAX_PENDING_CALLS:
            error = ErrorReply(
                INTERNAL_ERROR, "Too many calls are under way. Wait for some.", message.id
            )
            await self._refuse(error)
            return []
        key = coerce_request_id(message.id)
        if key in self.pending_ids:
            # The error has no id, because the id belongs to the first request.
            await self._refuse(ErrorReply(INVALID_REQUEST, "This id is already in use."))
            return []
        # A subscription only ends with the connection, so draining must not wait for it.
        if message.method != "subscriptions/listen":
            self.pending_ids.add(key)
            self.idle.clear()
        is_first, self.has_started = not self.has_started, True
        # Clients without a handshake are served too: the SDK accepts "initialized" alone as one.
        return [_INITIALIZED, message] if is_first and _lacks_handshake(message) else [message]

    def _mark_done(self, request_id: object) -> None:
        if (valid_id := as_request_id(request_id)) is not None:
            self.pending_ids.discard(coerce_request_id(valid_id))
        if not self.pending_ids:
            self.idle.set()

    async def _drain(self) -> None:
        if not self.has_given_up:
            await self.idle.wait()
        if self.pending_ids:
            _log.warning("calls were still running at the end", calls=len(self.pending_ids))

    async def _refuse(self, error: ErrorReply) -> None:
        _log.debug("refused a message", code=error.code, reason=error.reason)
        # Never wait for a client that does not read just to report an error: the read loop would
        # not notice the end of the input.
        if self.writer.has_room:
            with contextlib.suppress(BrokenPipeError):
                await self.writer.write(error.encode())


def _lacks_handshake(request: JSONRPCRequest) -> bool:
    """Return whether a request has neither a handshake nor the `_meta` that replaces it."""
    meta = (request.params or {}).get("_meta")
    has_version = isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
    return request.method != "initialize" and not has_version


class _BaseStream:
    """The context manager methods that the SDK expects of a stream."""

    async def aclose(self) -> None:
        """Do nothing: `serve_stdio` closes the descriptors."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return None


class _ReceiveStream(_BaseStream):
    """The stream that the SDK reads the client's messages from."""

    def __init__(self, messages: AsyncGenerator[Message]) -> None:
        self._messages = messages

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return SessionMessage(await anext(self._messages))

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: the input has ended.
        """
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _SendStream(_BaseStream):
    """The stream that the SDK writes the server's messages to."""

    def __init__(self, connection: _StdioConnection) -> None:
        self._connection = connection

    async def send(self, item: SessionMessage) -> None:
        """Send one message.

        Raises:
            anyio.BrokenResourceError: the client is gone.
        """
        try:
            await self._connection.send(item.message)
        except BrokenPipeError:
            raise anyio.BrokenResourceError from None
