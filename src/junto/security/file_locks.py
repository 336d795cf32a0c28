"""Locks between processes, which the kernel lets go of when a process ends, however it ends."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

_LOOK_AGAIN = 0.02


def opened(path: Path) -> int:
    """Return a descriptor for locking the file at `path`, which is made if need be."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def taken(fd: int, how: int) -> bool:
    """Take the lock, shared or alone, unless somebody is in the way."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.asynccontextmanager
async def alone(path: Path) -> AsyncIterator[None]:
    """Wait for the lock at `path` and hold it alone until the end of the block."""
    fd = opened(path)
    try:
        await waited(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def alone_in_thread(path: Path) -> Iterator[None]:
    """Do the same in a thread that may wait."""
    fd = opened(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


async def waited(fd: int, how: int) -> None:
    """Take the lock as soon as nobody is in the way; whoever is cancelled meanwhile leaves."""
    while not taken(fd, how):  # noqa: ASYNC110 - another process holds it; nothing tells us
        await asyncio.sleep(_LOOK_AGAIN)
