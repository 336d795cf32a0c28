"""Lines in and out of a process over asyncio pipes, for the protocol alone.

Serving a pipe from the event loop takes a third of what a reading and a writing thread take. What
cannot be polled (a file, the null device, Windows) is read by a thread and written at once.
"""

import asyncio
import contextlib
import os
import socket
import stat
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

from typing_extensions import override

_PIPE_BYTES = 1024 * 1024
_CHUNK = 256 * 1024
# How long a client may take to read the last answers.
_FAREWELL_SECONDS = 5.0


class TooLong:
    """Stands for a line that was longer than allowed and has been skipped."""


Line = bytes | TooLong


class LineReader(asyncio.Protocol):
    """Cuts what arrives into lines, and holds the sender back while they pile up."""

    def __init__(self, most_bytes: int) -> None:
        self.on_end: Callable[[], None] = lambda: None
        self._most = most_bytes
        self._transport: asyncio.ReadTransport | None = None
        self._lines: deque[Line] = deque()
        self._rest = bytearray()
        self._waiting = 0  # what the lines cost that nobody has taken yet
        self._skipping = False
        self._ended = False
        self._news = asyncio.Event()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        *complete, rest = data.split(b"\n")
        for piece in complete:
            self._finish(piece)
        self._keep(rest)
        if self._waiting > self._most and self._transport:
            self._transport.pause_reading()

    @override
    def eof_received(self) -> None:
        self.end()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    @property
    def ended(self) -> bool:
        """Return whether nothing more will be read."""
        return self._ended

    def end(self) -> None:
        """Note the end of the input; a last line without its newline still counts."""
        if self._ended:
            return
        if self._rest or self._skipping:
            self._finish(b"")
        self._ended = True
        self._news.set()
        self.on_end()

    def stop(self) -> None:
        """Read no further, and forget a line of which only a part has arrived."""
        self._rest.clear()
        self._skipping = False
        self.end()

    async def next(self) -> Line | None:
        """Return the next line, or None at the end."""
        while not self._lines:
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._waiting -= _cost(line)
        if self._waiting <= self._most and self._transport and not self._transport.is_closing():
            self._transport.resume_reading()
        return line

    def _keep(self, piece: bytes) -> None:
        if self._skipping:
            return
        self._rest += piece
        if len(self._rest) > self._most:
            self._rest.clear()
            self._skipping = True

    def _finish(self, piece: bytes) -> None:
        self._keep(piece)
        line: Line = TooLong() if self._skipping else bytes(self._rest).strip()
        self._rest.clear()
        self._skipping = False
        if line:
            self._waiting += _cost(line)
            self._lines.append(line)
            self._news.set()


def _cost(line: Line) -> int:
    """Return about how much memory a line takes while it waits; even the shortest takes some."""
    return 100 + (len(line) if isinstance(line, bytes) else 0)


class LineWriter(asyncio.Protocol):
    """Writes lines, and makes the writer wait while the other side does not read."""

    def __init__(self) -> None:
        self.on_lost: Callable[[], None] = lambda: None
        self._transport: asyncio.WriteTransport | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._gone = asyncio.Event()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    @override
    def pause_writing(self) -> None:
        self._room.clear()

    @override
    def resume_writing(self) -> None:
        self._room.set()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        self._room.set()
        self.on_lost()

    @property
    def has_room(self) -> bool:
        """Return whether a line could be written without waiting."""
        return self._room.is_set()

    def free(self) -> None:
        """Let go of a client that does not read: whoever waits to write to it waits no longer."""
        if self._transport and not self._room.is_set():
            self._transport.abort()

    async def write(self, line: bytes) -> None:
        """Write one line.

        Raises:
            BrokenPipeError: nobody is there to read it.
        """
        await self._room.wait()
        if self._transport is None or self._gone.is_set() or self._transport.is_closing():
            raise BrokenPipeError
        self._transport.write(line + b"\n")

    async def close(self) -> None:
        """Close once everything written has gone out, or will not go out."""
        if self._transport:
            self._transport.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_SECONDS):
                    await self._gone.wait()
            if not self._gone.is_set():
                self._transport.abort()


class FileWriter(LineWriter):
    """Writes lines to what cannot be polled, such as a file, which never makes us wait."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd

    @override
    async def write(self, line: bytes) -> None:
        rest = memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:  # a full disk reads as little as a client that is gone
            raise BrokenPipeError from error

    @override
    async def close(self) -> None:
        os.close(self._fd)


@contextlib.asynccontextmanager
async def reading(fd: int, most_bytes: int) -> AsyncIterator[LineReader]:
    """Read lines from `fd`, which is closed at the end."""
    reader = LineReader(most_bytes)
    loop = asyncio.get_running_loop()
    if _can_poll(fd):
        with _blocking_restored(fd):
            transport, _ = await loop.connect_read_pipe(lambda: reader, os.fdopen(fd, "rb", 0))
            try:
                yield reader
            finally:
                transport.close()
    else:
        # A daemon: nothing can interrupt a blocking read, and the process must not wait for it.
        threading.Thread(target=_pump, args=(fd, reader, loop), daemon=True).start()
        yield reader


def _pump(fd: int, reader: LineReader, loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended before the input
        try:
            while data := os.read(fd, _CHUNK):
                loop.call_soon_threadsafe(reader.data_received, data)
        finally:
            os.close(fd)
            loop.call_soon_threadsafe(reader.end)


@contextlib.asynccontextmanager
async def writing(fd: int) -> AsyncIterator[LineWriter]:
    """Write lines to `fd`, which is closed at the end, once all of them are out."""
    if not _can_poll(fd):
        file = FileWriter(fd)
        try:
            yield file
        finally:
            await file.close()
        return
    writer = LineWriter()
    loop = asyncio.get_running_loop()
    with _blocking_restored(fd):
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            # A pipe's transport takes anything to read for the end, but a socket goes both ways.
            ways = await loop.connect_accepted_socket(lambda: writer, socket.socket(fileno=fd))
            ways[0].pause_reading()
        else:
            _widen(fd)
            await loop.connect_write_pipe(lambda: writer, os.fdopen(fd, "wb", 0))
        try:
            yield writer
        finally:
            await writer.close()


def _widen(fd: int) -> None:
    """Let a pipe hold more, where that can be had: a large answer then goes out in fewer pieces."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl  # Windows has none

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _can_poll(fd: int) -> bool:
    """Tell whether the event loop can wait for `fd`: pipes, sockets and terminals, not files."""
    if sys.platform == "win32":
        return False
    import select  # has no poll on Windows

    if stat.S_ISREG(os.fstat(fd).st_mode):
        return False
    if not hasattr(select, "epoll"):
        return True
    with contextlib.closing(select.epoll()) as epoll:
        try:
            epoll.register(fd)
        except PermissionError:  # the null device, for one
            return False
    return True


@contextlib.contextmanager
def _blocking_restored(fd: int) -> Iterator[None]:
    """Undo what asyncio does to a descriptor.

    The flag belongs to the open file, which a terminal's shell shares with us.
    """
    keep, blocking = os.dup(fd), os.get_blocking(fd)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.set_blocking(keep, blocking)
        os.close(keep)
