"""A client of an MCP server that runs in this process and is connected by pipes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from junto.transport.line_io import LineReader, LineTooLong, LineWriter, open_reader, open_writer
from junto.transport.raw_message import RawMessage, encode_jsonrpc

_MAX_LINE_BYTES = (
    1024 * 1024 * 1024
)  # our own server is trusted; its messages are forwarded as they are


@dataclass(slots=True)
class InProcessClient:
    """Forwards messages to the server in this process and its answers to the client."""

    reader: LineReader
    writer: LineWriter
    write_line: Callable[[bytes], Awaitable[None]]
    server_request_ids: set[str] = field(default_factory=set)
    _pending: "dict[str, asyncio.Future[bytes]]" = field(default_factory=dict, init=False)

    async def forward(self, raw: RawMessage) -> AsyncGenerator[bytes]:
        """Forward a message and yield its response.

        All other messages of the server go directly to the client, see `pump`.
        """
        if raw.is_response:
            self.server_request_ids.discard(raw.key)
        if not raw.is_request:
            await self.writer.write(raw.line)
            return
        response = asyncio.get_running_loop().create_future()
        self._pending[raw.key] = response
        try:
            await self.writer.write(raw.line)
            yield await response
        finally:
            del self._pending[raw.key]
            if response.cancelled():
                params = {"requestId": raw.id}
                await self.writer.write(
                    encode_jsonrpc(method="notifications/cancelled", params=params)
                )

    async def replay_handshake(self, handshake: RawMessage) -> None:
        """Initialize this server with the handshake that the client sent to another one."""
        async for _ in self.forward(handshake):
            pass
        await self.writer.write(encode_jsonrpc(method="notifications/initialized"))

    async def pump(self) -> None:
        """Hand responses to the waiting `forward` calls, and everything else to the client."""
        while (line := await self.reader.next()) is not None:
            if isinstance(line, LineTooLong):
                continue
            message = RawMessage.parse(line)
            response = self._pending.get(message.key) if message.is_response else None
            if response:
                if not response.done():
                    response.set_result(line)
                continue
            if message.is_request:
                self.server_request_ids.add(message.key)
            with contextlib.suppress(BrokenPipeError):
                await self.write_line(line)


@contextlib.asynccontextmanager
async def connect_in_process(
    fds: tuple[int, int], write_line: Callable[[bytes], Awaitable[None]]
) -> AsyncIterator[InProcessClient]:
    """Connect to the server at the other end of the pipes `fds`, which are closed on exit."""
    async with open_reader(fds[0], _MAX_LINE_BYTES) as reader:
        async with open_writer(fds[1]) as writer:
            client = InProcessClient(reader, writer, write_line)
            pump = asyncio.create_task(client.pump())
            yield client
        await pump
