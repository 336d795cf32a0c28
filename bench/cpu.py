"""Processor time of this process and of the database beside it."""

import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path


def cpu() -> float:
    """Return the seconds that this process and the database server have worked."""
    worked = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                ours = int(entry.name) == os.getpid()
                if ours or (entry / "comm").read_text().strip() == "postgres":
                    for task in (entry / "task").iterdir():
                        worked += int((task / "schedstat").read_text().split()[0])
    return worked / 1e9


async def spent(work: Callable[[], Awaitable[object]], times: int) -> float:
    """Return the milliseconds that `work` takes each time."""
    before = cpu()
    for _ in range(times):
        await work()
    return (cpu() - before) / times * 1000
