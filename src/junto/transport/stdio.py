"""MCP on standard input and output."""

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
from junto.transport.calls import CANCELLED
from junto.transport.messages import Fault, Message, parse, written
from junto.transport.pipes import LineReader, LineWriter, TooLong, reading, writing
from junto.transport.stopping import Stopping

_log = Log.of("transport")

_MOST_CALLS = 10_000  # a burst may be long, but not without end
_INITIALIZED = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")


async def serve_stdio(
    server: Server[Any], wire: tuple[int, int], stopping: Stopping, *, drain: float, most_bytes: int
) -> None:
    """Serve one client on the descriptors of `wire` until it closes them or a signal comes.

    Calls already accepted are finished and answered first, for up to `drain` seconds.
    """
    async with writing(wire[1]) as writer, reading(wire[0], most_bytes) as reader:
        conversation = _Conversation(reader, writer, drain)
        async with aclosing(conversation.messages()) as messages:
            stopping.tell(conversation.stop)
            await server.run(
                _Incoming(messages),
                _Outgoing(conversation),
                server.create_initialization_options(),
            )


@dataclass
class _Conversation:
    """What was asked and not answered yet; everything that knows about both directions."""

    reader: LineReader
    writer: LineWriter
    drain: float
    # By the id as the SDK compares it, to which 7 and "7" are the same.
    pending: set[int | str] = field(default_factory=set)
    opened: bool = False
    given_up: bool = False
    # Set while nothing is under way, or nobody wants to wait for it any more.
    quiet: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.quiet.set()
        self.reader.on_end = self._input_ended
        # Without a reader nothing can be answered any more, so nothing more is taken.
        self.writer.on_lost = self.reader.stop

    def stop(self) -> None:
        """Take no more requests; a second time, do not wait for those under way either."""
        if self.reader.ended:
            self._give_up()
        self.reader.stop()

    def _input_ended(self) -> None:
        asyncio.get_running_loop().call_later(self.drain, self._give_up)

    def _give_up(self) -> None:
        """Wait no longer, neither for calls nor for a client that does not read."""
        self.given_up = True
        self.quiet.set()
        self.writer.free()

    async def messages(self) -> AsyncGenerator[Message]:
        """Yield what the client sends, and at its end wait for what is still under way."""
        while not self.given_up and (line := await self.reader.next()) is not None:
            if isinstance(line, TooLong):
                await self._refuse(Fault(INVALID_REQUEST, "The message is too long."))
            else:
                for message in await self._understood(parse(line)):
                    yield message
        await self._drained()

    async def send(self, message: Message) -> None:
        """Send one message to the client."""
        try:
            await self.writer.write(written(message))
        finally:
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._settled(message.id)

    async def _understood(self, message: Message | Fault) -> list[Message]:
        """Return what the SDK is to be told of a message: nothing, it, or a bit more than it."""
        if isinstance(message, Fault):
            await self._refuse(message)
            return []
        if isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
            # A cancelled request is never answered.
            self._settled((message.params or {}).get("requestId"))
        if not isinstance(message, JSONRPCRequest):
            return [message]
        if len(self.pending) >= _MOST_CALLS:
            fault = Fault(
                INTERNAL_ERROR, "Too many calls are under way. Wait for some.", message.id
            )
            await self._refuse(fault)
            return []
        key = coerce_request_id(message.id)
        if key in self.pending:
            # Answered without the id, which belongs to the first of the two.
            await self._refuse(Fault(INVALID_REQUEST, "This id is already in use."))
            return []
        # A subscription ends with the connection; waiting for it would never end.
        if message.method != "subscriptions/listen":
            self.pending.add(key)
            self.quiet.clear()
        first, self.opened = not self.opened, True
        # Answering without a handshake: the SDK takes a lone "initialized" for one.
        return [_INITIALIZED, message] if first and _is_bare(message) else [message]

    def _settled(self, request_id: object) -> None:
        if (known := as_request_id(request_id)) is not None:
            self.pending.discard(coerce_request_id(known))
        if not self.pending:
            self.quiet.set()

    async def _drained(self) -> None:
        if not self.given_up:
            await self.quiet.wait()
        if self.pending:
            _log.warning("calls were still running at the end", calls=len(self.pending))

    async def _refuse(self, fault: Fault) -> None:
        _log.debug("refused a message", code=fault.code, reason=fault.reason)
        # Nobody waits to tell a client that does not read what it did wrong: whoever waited here
        # would not notice its end.
        if self.writer.has_room:
            with contextlib.suppress(BrokenPipeError):
                await self.writer.write(fault.reply())


def _is_bare(request: JSONRPCRequest) -> bool:
    """Tell whether a request comes with neither a handshake nor the envelope that replaced it."""
    meta = (request.params or {}).get("_meta")
    enveloped = isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
    return request.method != "initialize" and not enveloped


class _Stream:
    """The manners that the SDK expects of a stream."""

    async def aclose(self) -> None:
        """Do nothing: whoever opened the pipes closes them."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return None


class _Incoming(_Stream):
    """The client's messages, as the SDK reads them."""

    def __init__(self, messages: AsyncGenerator[Message]) -> None:
        self._messages = messages

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return SessionMessage(await anext(self._messages))

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or say that there is none in anyio's way."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _Outgoing(_Stream):
    """The server's messages, as the SDK sends them."""

    def __init__(self, conversation: _Conversation) -> None:
        self._conversation = conversation

    async def send(self, item: SessionMessage) -> None:
        """Send one message; a client that is gone gets nothing, which the SDK expects to hear."""
        try:
            await self._conversation.send(item.message)
        except BrokenPipeError:
            raise anyio.BrokenResourceError from None
