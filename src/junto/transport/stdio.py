"""MCP on standard input and output."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from junto.telemetry.logs import Log
from junto.transport.descriptors import claimed
from junto.transport.messages import Fault, Message, parse, written
from junto.transport.pipes import LineReader, LineWriter, TooLong, reading, writing

_log = Log.of("transport")

_CANCELLED = "notifications/cancelled"


async def serve_stdio(server: Server[Any], *, drain: float, most_bytes: int) -> None:
    """Serve one client on standard input and output until it closes them or a signal comes.

    Calls already accepted are finished and answered first, for up to `drain` seconds.
    """
    with claimed() as (wire_in, wire_out):
        async with writing(wire_out) as writer, reading(wire_in, most_bytes) as reader:
            conversation = _Conversation(reader, writer, drain)
            with _stopping_on_signals(conversation):
                await server.run(
                    _Incoming(conversation),
                    _Outgoing(conversation),
                    server.create_initialization_options(),
                )


@dataclass
class _Conversation:
    """What was asked and not answered yet; everything that knows about both directions."""

    reader: LineReader
    writer: LineWriter
    drain: float
    pending: set[int | str] = field(default_factory=set)
    opened: bool = False
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    hurried: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        """Take no more requests; a second time, do not wait for those under way either."""
        if self.reader.ended:
            self.hurried.set()
        self.reader.end()

    async def messages(self) -> AsyncIterator[Message]:
        """Yield what the client sends, and at its end wait for what is still under way."""
        while (line := await self.reader.next()) is not None:
            if isinstance(line, TooLong):
                await self._refuse(Fault(INVALID_REQUEST, "The message is too long."))
            elif line.strip():
                async for message in self._understood(parse(line)):
                    yield message
        await self._drained()

    async def send(self, message: Message) -> None:
        """Send one message to the client."""
        await self.writer.write(written(message))
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._settled(message.id)

    async def _understood(self, message: Message | Fault) -> AsyncIterator[Message]:
        if isinstance(message, Fault):
            await self._refuse(message)
            return
        if isinstance(message, JSONRPCRequest):
            if message.id in self.pending:
                # Answered without the id, which belongs to the first of the two.
                fault = Fault(INVALID_REQUEST, f"The id {message.id} is already in use.")
                await self._refuse(fault)
                return
            if not self.opened and _is_bare(message):
                # Answering without a handshake: the SDK takes a lone "initialized" for one.
                yield JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
            self.opened = True
            # A subscription ends with the connection; waiting for it would never end.
            if message.method != "subscriptions/listen":
                self.pending.add(message.id)
        if isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            # A cancelled request is never answered.
            self._settled((message.params or {}).get("requestId"))
        yield message

    def _settled(self, request_id: Any) -> None:
        if isinstance(request_id, int | str):
            self.pending.discard(request_id)
        if not self.pending:
            self.idle.set()

    async def _drained(self) -> None:
        if not self.pending:
            return
        self.idle.clear()
        waits = [asyncio.create_task(event.wait()) for event in (self.idle, self.hurried)]
        _, late = await asyncio.wait(waits, timeout=self.drain, return_when=asyncio.FIRST_COMPLETED)
        for wait in late:
            wait.cancel()
        if self.pending:
            _log.warning("calls were still running at the end", calls=len(self.pending))

    async def _refuse(self, fault: Fault) -> None:
        _log.debug("refused a message", code=fault.code, reason=fault.reason)
        with contextlib.suppress(BrokenPipeError):
            await self.writer.write(fault.reply())


def _is_bare(request: JSONRPCRequest) -> bool:
    """Tell whether a request comes with neither a handshake nor the envelope that replaced it."""
    meta = (request.params or {}).get("_meta")
    enveloped = isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
    return request.method != "initialize" and not enveloped


@contextlib.contextmanager
def _stopping_on_signals(conversation: _Conversation) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    with contextlib.suppress(NotImplementedError):  # Windows
        for number in signals:
            loop.add_signal_handler(number, conversation.stop)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in signals:
                loop.remove_signal_handler(number)


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

    def __init__(self, conversation: _Conversation) -> None:
        self._messages = conversation.messages()

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
