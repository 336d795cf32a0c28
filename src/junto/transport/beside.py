"""A server in this very process, behind pipes, for what should not be done elsewhere."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from junto.transport.pipes import LineReader, LineWriter, TooLong, reading, writing
from junto.transport.raw import Raw, message

_MOST_BYTES = 1024 * 1024 * 1024  # it is our own, and what it says goes out as it comes


@dataclass(slots=True)
class Beside:
    """Speaks to the server beside us as a client would."""

    reader: LineReader
    writer: LineWriter
    out: Callable[[bytes], Awaitable[None]]
    asked: set[str] = field(default_factory=set)
    _waiting: "dict[str, asyncio.Future[bytes]]" = field(default_factory=dict, init=False)

    async def exchange(self, asked: Raw) -> AsyncGenerator[bytes]:
        """Pass a message on and yield its answer; what else is said goes out by itself."""
        if asked.answers:
            self.asked.discard(asked.key)
        if not asked.asks:
            await self.writer.write(asked.line)
            return
        answer = asyncio.get_running_loop().create_future()
        self._waiting[asked.key] = answer
        try:
            await self.writer.write(asked.line)
            yield await answer
        finally:
            del self._waiting[asked.key]
            if answer.cancelled():
                notice = {"requestId": asked.id}
                await self.writer.write(message(method="notifications/cancelled", params=notice))

    async def greet(self, handshake: Raw) -> None:
        """Repeat the handshake that the client had with another server."""
        async for _ in self.exchange(handshake):
            pass
        await self.writer.write(message(method="notifications/initialized"))

    async def pump(self) -> None:
        """Hand answers to whoever waits for them, and everything else to the client."""
        while (line := await self.reader.next()) is not None:
            if isinstance(line, TooLong):
                continue
            said = Raw.of(line)
            waiting = self._waiting.get(said.key) if said.answers else None
            if waiting:
                if not waiting.done():
                    waiting.set_result(line)
                continue
            if said.asks:
                self.asked.add(said.key)
            with contextlib.suppress(BrokenPipeError):
                await self.out(line)


@contextlib.asynccontextmanager
async def beside(
    wire: tuple[int, int], out: Callable[[bytes], Awaitable[None]]
) -> AsyncIterator[Beside]:
    """Speak to the server at the other end of `wire`, whose descriptors are closed at the end."""
    async with reading(wire[0], _MOST_BYTES) as reader:
        async with writing(wire[1]) as writer:
            server = Beside(reader, writer, out)
            pump = asyncio.create_task(server.pump())
            yield server
        await pump
