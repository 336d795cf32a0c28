"""Line-based reading and writing of file descriptors with asyncio, used by the stdio transport.

Serving a pipe from the event loop takes a third of the CPU time of a reader and a writer thread.
Descriptors that cannot be polled (regular files, the null device, everything on Windows) are read
in a thread and written synchronously.
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
_CHUNK_BYTES = 256 * 1024
# Seconds a client has to read the remaining output before the connection is aborted.
_CLOSE_TIMEOUT_SECONDS = 5.0


class LineTooLong:
    """A placeholder for a line that exceeded the maximum length and was skipped."""


Line = bytes | LineTooLong


class LineReader(asyncio.Protocol):
    """Splits input into lines, and pauses reading while too many bytes are buffered."""

    def __init__(self, max_line_bytes: int) -> None:
        self.on_end: Callable[[], None] = lambda: None
        self._max_line_bytes = max_line_bytes
        self._transport: asyncio.ReadTransport | None = None
        self._lines: deque[Line] = deque()
        self._partial_line = bytearray()
        self._buffered_bytes = 0  # estimated size of the lines in `_lines`
        self._is_skipping = False
        self._has_ended = False
        self._changed = asyncio.Event()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        if self._has_ended:
            return
        *complete, rest = data.split(b"\n")
        for piece in complete:
            self._finish_line(piece)
        self._append(rest)
        if self._buffered_bytes > self._max_line_bytes and self._transport:
            self._transport.pause_reading()

    @override
    def eof_received(self) -> None:
        self.end()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    @property
    def has_ended(self) -> bool:
        """Return whether the input has ended."""
        return self._has_ended

    def end(self) -> None:
        """End the input; a last line without a newline still counts."""
        if self._has_ended:
            return
        if self._partial_line or self._is_skipping:
            self._finish_line(b"")
        self._has_ended = True
        self._changed.set()
        self.on_end()

    def stop(self) -> None:
        """Stop reading, and discard an incomplete line."""
        self._partial_line.clear()
        self._is_skipping = False
        self.end()

    async def next(self) -> Line | None:
        """Return the next line, or None at the end of the input."""
        while not self._lines:
            if self._has_ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        line = self._lines.popleft()
        self._buffered_bytes -= _estimate_bytes(line)
        if (
            self._buffered_bytes <= self._max_line_bytes
            and self._transport
            and not self._transport.is_closing()
        ):
            self._transport.resume_reading()
        return line

    def _append(self, piece: bytes) -> None:
        if self._is_skipping:
            return
        self._partial_line += piece
        if len(self._partial_line) > self._max_line_bytes:
            self._partial_line.clear()
            self._is_skipping = True

    def _finish_line(self, piece: bytes) -> None:
        self._append(piece)
        line: Line = LineTooLong() if self._is_skipping else bytes(self._partial_line).strip()
        self._partial_line.clear()
        self._is_skipping = False
        if line:
            self._buffered_bytes += _estimate_bytes(line)
            self._lines.append(line)
            self._changed.set()


def _estimate_bytes(line: Line) -> int:
    """Return the approximate memory of a buffered line, including a fixed overhead."""
    return 100 + (len(line) if isinstance(line, bytes) else 0)


class LineWriter(asyncio.Protocol):
    """Writes lines, and waits while the other side does not read."""

    def __init__(self) -> None:
        self.on_lost: Callable[[], None] = lambda: None
        self._transport: asyncio.WriteTransport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._closed = asyncio.Event()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    @override
    def pause_writing(self) -> None:
        self._writable.clear()

    @override
    def resume_writing(self) -> None:
        self._writable.set()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()
        self._writable.set()
        self.on_lost()

    @property
    def has_room(self) -> bool:
        """Return whether a line can be written without waiting."""
        return self._writable.is_set()

    def abort_if_blocked(self) -> None:
        """Abort the connection to a client that does not read, which unblocks pending writes."""
        if self._transport and not self._writable.is_set():
            self._transport.abort()

    async def write(self, line: bytes) -> None:
        """Write one line.

        Raises:
            BrokenPipeError: the connection is closed.
        """
        await self._writable.wait()
        if self._transport is None or self._closed.is_set() or self._transport.is_closing():
            raise BrokenPipeError
        self._transport.write(line + b"\n")

    async def close(self) -> None:
        """Flush what is written and close; abort if the client does not read it in time."""
        if self._transport:
            self._transport.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_SECONDS):
                    await self._closed.wait()
            if not self._closed.is_set():
                self._transport.abort()


class _FileWriter(LineWriter):
    """Writes lines to a descriptor that cannot be polled, such as a regular file."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd

    @override
    async def write(self, line: bytes) -> None:
        rest = memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:  # such as a full disk; handled like a client that is gone
            raise BrokenPipeError from error

    @override
    async def close(self) -> None:
        os.close(self._fd)


@contextlib.asynccontextmanager
async def open_reader(fd: int, max_line_bytes: int) -> AsyncIterator[LineReader]:
    """Open a reader for `fd`, which is closed on exit."""
    reader = LineReader(max_line_bytes)
    loop = asyncio.get_running_loop()
    if _can_poll(fd):
        with _restore_blocking(fd):
            transport, _ = await loop.connect_read_pipe(lambda: reader, os.fdopen(fd, "rb", 0))
            try:
                yield reader
            finally:
                transport.close()
    else:
        # A daemon thread, because a blocking read cannot be interrupted and must not delay exit.
        threading.Thread(target=_read_in_thread, args=(fd, reader, loop), daemon=True).start()
        yield reader


def _read_in_thread(fd: int, reader: LineReader, loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed before the input ended
        try:
            while data := os.read(fd, _CHUNK_BYTES):
                loop.call_soon_threadsafe(reader.data_received, data)
        finally:
            os.close(fd)
            loop.call_soon_threadsafe(reader.end)


@contextlib.asynccontextmanager
async def open_writer(fd: int) -> AsyncIterator[LineWriter]:
    """Open a writer for `fd`, which is flushed and closed on exit."""
    if not _can_poll(fd):
        file = _FileWriter(fd)
        try:
            yield file
        finally:
            await file.close()
        return
    writer = LineWriter()
    loop = asyncio.get_running_loop()
    with _restore_blocking(fd):
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            # A write pipe transport takes incoming data for a hang-up; sockets are bidirectional.
            transport, _ = await loop.connect_accepted_socket(
                lambda: writer, socket.socket(fileno=fd)
            )
            transport.pause_reading()
        else:
            _enlarge_pipe(fd)
            await loop.connect_write_pipe(lambda: writer, os.fdopen(fd, "wb", 0))
        try:
            yield writer
        finally:
            await writer.close()


def _enlarge_pipe(fd: int) -> None:
    """Enlarge the buffer of a pipe where supported, so that large messages need fewer writes."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl  # not available on Windows

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _can_poll(fd: int) -> bool:
    """Return whether the event loop can poll `fd`: pipes, sockets and terminals, not files."""
    if sys.platform == "win32":
        return False
    import select  # has no poll() on Windows

    if stat.S_ISREG(os.fstat(fd).st_mode):
        return False
    if not hasattr(select, "epoll"):
        return True
    with contextlib.closing(select.epoll()) as epoll:
        try:
            epoll.register(fd)
        except PermissionError:  # for example the null device
            return False
    return True


@contextlib.contextmanager
def _restore_blocking(fd: int) -> Iterator[None]:
    """Restore the blocking mode of `fd`, which asyncio changes, at the end of the block.

    The flag belongs to the open file description, which is shared with the shell of a terminal.
    """
    saved_fd, was_blocking = os.dup(fd), os.get_blocking(fd)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.set_blocking(saved_fd, was_blocking)
        os.close(saved_fd)
