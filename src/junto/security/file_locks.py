"""File locks between processes, which the kernel releases when the holder exits or crashes."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

_POLL_SECONDS = 0.02


def open_lock_file(path: Path) -> int:
    """Open the lock file at `path`, creating it if necessary, and return its descriptor."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(fd: int, operation: int) -> bool:
    """Try to take the lock without waiting; `operation` is LOCK_SH or LOCK_EX."""
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.asynccontextmanager
async def hold_lock(path: Path) -> AsyncIterator[None]:
    """Wait for the exclusive lock at `path` and hold it until the end of the block."""
    fd = open_lock_file(path)
    try:
        await acquire_lock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def hold_lock_blocking(path: Path) -> Iterator[None]:
    """Like `hold_lock`, but block the calling thread while waiting."""
    fd = open_lock_file(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


async def acquire_lock(fd: int, operation: int) -> None:
    """Wait until the lock can be taken; cancellation stops waiting."""
    while not try_lock(fd, operation):  # noqa: ASYNC110 - another process holds it, so there is no event
        await asyncio.sleep(_POLL_SECONDS)
