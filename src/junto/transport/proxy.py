"""A proxy that forwards MCP messages between stdio and a backend."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from junto.telemetry.logs import Log
from junto.transport.line_io import LineReader, LineTooLong, LineWriter
from junto.transport.raw_message import INTERNAL_ERROR, INVALID_REQUEST, RawMessage, encode_error

_log = Log.get("transport")

_MAX_PENDING_CALLS = 10_000  # bounds memory; bursts of thousands of calls are legitimate
_CANCELLED = "notifications/cancelled"


class ProxyBackend(Protocol):
    """The server, or servers, that messages are forwarded to."""

    def forward(self, message: RawMessage) -> AsyncGenerator[bytes]:
        """Forward a message and yield its replies; closing the generator early cancels the call."""
        ...


@dataclass(slots=True)
class StdioProxy:
    """Forwards the messages of one stdio client to a backend and tracks the pending calls."""

    reader: LineReader
    writer: LineWriter
    backend: ProxyBackend
    drain_seconds: float
    _pending_calls: "dict[str, asyncio.Task[None]]" = field(default_factory=dict, init=False)
    _subscriptions: "set[asyncio.Task[None]]" = field(default_factory=set, init=False)
    _given_up: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.reader.on_end = self._on_input_end
        self.writer.on_lost = self.reader.stop

    def stop(self) -> None:
        """Accept no more requests; if called again, stop waiting for pending calls too."""
        if self.reader.has_ended:
            self._give_up()
        self.reader.stop()

    def _on_input_end(self) -> None:
        asyncio.get_running_loop().call_later(self.drain_seconds, self._give_up)

    def _give_up(self) -> None:
        self._given_up.set()
        self.writer.abort_if_blocked()

    async def run(self) -> None:
        """Forward messages until the input ends, then wait for pending calls."""
        while not self._given_up.is_set() and (line := await self.reader.next()) is not None:
            if isinstance(line, LineTooLong):
                await self._refuse(encode_error(INVALID_REQUEST, "The message is too long."))
            else:
                await self._dispatch(RawMessage.parse(line))
        await self._drain()

    async def _dispatch(self, message: RawMessage) -> None:
        if message.method == _CANCELLED and message.id is None:
            # An HTTP call is cancelled by disconnecting; a cancelled call gets no response.
            if call := self._pending_calls.get(str((message.params or {}).get("requestId"))):
                call.cancel()
        elif not message.is_request:
            await self._forward(message)
        elif len(self._pending_calls) >= _MAX_PENDING_CALLS:
            reason = "Too many calls are under way. Wait for some."
            await self._refuse(encode_error(INTERNAL_ERROR, reason, message.id))
        elif message.key in self._pending_calls:
            # The error has no id, because the id belongs to the first call.
            await self._refuse(encode_error(INVALID_REQUEST, "This id is already in use."))
        else:
            call = asyncio.create_task(self._forward(message))
            self._pending_calls[message.key] = call
            call.add_done_callback(lambda call: self._on_call_done(message, call))
            if message.method == "subscriptions/listen":
                self._subscriptions.add(call)
            elif message.method == "initialize":
                await asyncio.wait({call})  # later messages depend on the negotiated version

    def _on_call_done(self, message: RawMessage, call: "asyncio.Task[None]") -> None:
        self._pending_calls.pop(message.key, None)
        self._subscriptions.discard(call)

    async def _forward(self, message: RawMessage) -> None:
        try:
            async with aclosing(self.backend.forward(message)) as texts:
                async for text in texts:
                    await self.writer.write(text)
        except BrokenPipeError:
            pass
        except Exception as error:  # noqa: BLE001 - an unexpected error must only fail this call
            _log.exception("a message was not passed on", error, method=message.method)
            if message.is_request:
                await self._refuse(encode_error(INTERNAL_ERROR, "Internal error", message.id))

    async def _drain(self) -> None:
        """Wait for pending calls, but not for subscriptions, which only end with the client."""
        given_up = asyncio.create_task(self._given_up.wait())
        while calls := set(self._pending_calls.values()) - self._subscriptions:
            await asyncio.wait({*calls, given_up}, return_when=asyncio.FIRST_COMPLETED)
            if given_up.done():
                break
        rest = list(self._pending_calls.values())
        for task in (given_up, *rest):
            task.cancel()
        await asyncio.gather(given_up, *rest, return_exceptions=True)

    async def _refuse(self, text: bytes) -> None:
        # Never wait for a client that does not read just to report an error.
        if self.writer.has_room:
            with contextlib.suppress(BrokenPipeError):
                await self.writer.write(text)
