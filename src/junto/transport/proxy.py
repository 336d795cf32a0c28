"""MCP on standard input and output, answered by other servers: lines in, lines out."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from junto.telemetry.logs import Log
from junto.transport.pipes import LineReader, LineWriter, TooLong
from junto.transport.raw import INTERNAL_ERROR, INVALID_REQUEST, Raw, refusal

_log = Log.of("transport")

_MOST_CALLS = 10_000  # a burst may be long, but not without end
_CANCELLED = "notifications/cancelled"


class Way(Protocol):
    """Where messages go."""

    def exchange(self, asked: Raw) -> AsyncGenerator[bytes]:
        """Yield what comes back for a message; leaving early stops the work."""
        ...


@dataclass(slots=True)
class Relay:
    """What was asked and not answered yet, between a client and the servers behind us."""

    reader: LineReader
    writer: LineWriter
    way: Way
    drain: float
    _calls: "dict[str, asyncio.Task[None]]" = field(default_factory=dict, init=False)
    _subscriptions: "set[asyncio.Task[None]]" = field(default_factory=set, init=False)
    _given_up: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.reader.on_end = self._input_ended
        self.writer.on_lost = self.reader.stop

    def stop(self) -> None:
        """Take no more requests; a second time, do not wait for those under way either."""
        if self.reader.ended:
            self._give_up()
        self.reader.stop()

    def _input_ended(self) -> None:
        asyncio.get_running_loop().call_later(self.drain, self._give_up)

    def _give_up(self) -> None:
        self._given_up.set()
        self.writer.free()

    async def run(self) -> None:
        """Pass messages on until the client is gone, and finish what it has asked."""
        while not self._given_up.is_set() and (line := await self.reader.next()) is not None:
            if isinstance(line, TooLong):
                await self._refuse(refusal(INVALID_REQUEST, "The message is too long."))
            else:
                await self._take(Raw.of(line))
        await self._drained()

    async def _take(self, asked: Raw) -> None:
        if asked.method == _CANCELLED and asked.id is None:
            # Hanging up is how a call over HTTP is stopped; it is never answered.
            if call := self._calls.get(str((asked.params or {}).get("requestId"))):
                call.cancel()
        elif not asked.asks:
            await self._passed(asked)
        elif len(self._calls) >= _MOST_CALLS:
            reason = "Too many calls are under way. Wait for some."
            await self._refuse(refusal(INTERNAL_ERROR, reason, asked.id))
        elif asked.key in self._calls:
            # Answered without the id, which belongs to the first of the two.
            await self._refuse(refusal(INVALID_REQUEST, "This id is already in use."))
        else:
            call = asyncio.create_task(self._passed(asked))
            self._calls[asked.key] = call
            call.add_done_callback(lambda call: self._over(asked, call))
            if asked.method == "subscriptions/listen":
                self._subscriptions.add(call)
            elif asked.method == "initialize":
                await asyncio.wait({call})  # what follows depends on the version it settles

    def _over(self, asked: Raw, call: "asyncio.Task[None]") -> None:
        self._calls.pop(asked.key, None)
        self._subscriptions.discard(call)

    async def _passed(self, asked: Raw) -> None:
        try:
            async with aclosing(self.way.exchange(asked)) as texts:
                async for text in texts:
                    await self.writer.write(text)
        except BrokenPipeError:
            pass
        except Exception as error:  # noqa: BLE001 - what nobody foresaw costs this call alone
            _log.crash("a message was not passed on", error, method=asked.method)
            if asked.asks:
                await self._refuse(refusal(INTERNAL_ERROR, "Internal error", asked.id))

    async def _drained(self) -> None:
        """Wait for calls under way, but not for subscriptions, which end with the client."""
        patience = asyncio.create_task(self._given_up.wait())
        while calls := set(self._calls.values()) - self._subscriptions:
            await asyncio.wait({*calls, patience}, return_when=asyncio.FIRST_COMPLETED)
            if patience.done():
                break
        rest = list(self._calls.values())
        for task in (patience, *rest):
            task.cancel()
        await asyncio.gather(patience, *rest, return_exceptions=True)

    async def _refuse(self, text: bytes) -> None:
        # Nobody waits to tell a client that does not read what it did wrong.
        if self.writer.has_room:
            with contextlib.suppress(BrokenPipeError):
                await self.writer.write(text)
