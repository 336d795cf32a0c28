"""Log files of limited size: shared by several processes, or the output of the daemon."""

import asyncio
import contextlib
import logging.handlers
import os
from collections.abc import AsyncIterator, Iterator
from io import TextIOWrapper
from pathlib import Path

from typing_extensions import override

_MAX_LOG_BYTES = 10 * 1024 * 1024
_MAX_ROTATED_FILES = 5
_CHECK_INTERVAL_SECONDS = 60.0
OUTPUT_OPEN_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT


class SharedFileHandler(logging.handlers.WatchedFileHandler):
    """A handler for a log file that several processes write and that only its owner can read.

    Every process opens the file in append mode, so lines are never interleaved. The first process
    that finds the file full renames it under a lock; the others then reopen the path.
    """

    def __init__(self, path: Path, max_bytes: int = _MAX_LOG_BYTES) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self._max_bytes = max_bytes

    @override
    def _open(self) -> TextIOWrapper:
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(fd, "a", encoding="utf-8")

    @override
    def emit(self, record: logging.LogRecord) -> None:
        # A failure here must lose only this line, not fail the caller.
        with contextlib.suppress(Exception):
            super().emit(record)
            if self.stream and self.stream.tell() > self._max_bytes:
                rotate_file(Path(self.baseFilename), self._max_bytes)


def rotate_file(path: Path, max_bytes: int = _MAX_LOG_BYTES) -> None:
    """Rename a full file to `.1` and shift the older ones, so that reopening starts a new file."""
    with _hold_file_lock(f"{path}.lock"):
        if path.stat().st_size <= max_bytes:
            return  # another process has rotated it already
        for number in range(_MAX_ROTATED_FILES - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(f"{path.name}.{number}").rename(f"{path}.{number + 1}")
        path.rename(f"{path}.1")


@contextlib.contextmanager
def _hold_file_lock(path: str) -> Iterator[None]:
    import fcntl  # missing on Windows, where files are not rotated

    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.asynccontextmanager
async def cap_output(path: Path) -> AsyncIterator[None]:
    """Rotate the file at `path`, which receives stdout and stderr, whenever it is full."""
    task = asyncio.create_task(_rotate_output_periodically(path))
    try:
        yield
    finally:
        task.cancel()


async def _rotate_output_periodically(path: Path) -> None:
    while True:
        await asyncio.sleep(_CHECK_INTERVAL_SECONDS)
        with contextlib.suppress(OSError):  # output still works without rotation
            rotate_output(path)


def rotate_output(path: Path, max_bytes: int = _MAX_LOG_BYTES) -> None:
    """Redirect stdout and stderr to a new file if the current one is full.

    Output written in the meantime ends up in one of the two files.
    """
    if os.fstat(2).st_size <= max_bytes:
        return
    rotate_file(path, max_bytes)
    fd = os.open(path, OUTPUT_OPEN_FLAGS, 0o600)
    for stream in (1, 2):
        os.dup2(fd, stream)
    os.close(fd)
