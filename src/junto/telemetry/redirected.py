"""Standard output and error in a file that never grows without end."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from junto.telemetry.files import set_aside

MOST_BYTES = 10 * 1024 * 1024
_LOOK_SECONDS = 60.0
FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT


@contextlib.asynccontextmanager
async def bounded(path: Path) -> AsyncIterator[None]:
    """Set the file aside whenever it is full, until the end of the block."""
    watch = asyncio.create_task(_watched(path))
    try:
        yield
    finally:
        watch.cancel()


async def _watched(path: Path) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        with contextlib.suppress(OSError):  # the words matter more than their number
            turned(path)


def turned(path: Path, most_bytes: int = MOST_BYTES) -> None:
    """Go on in a new file if this one is full; what is written meanwhile is in one of the two."""
    if os.fstat(2).st_size <= most_bytes:
        return
    set_aside(path, most_bytes)
    fd = os.open(path, FLAGS, 0o600)
    for stream in (1, 2):
        os.dup2(fd, stream)
    os.close(fd)
