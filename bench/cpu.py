"""Processor time of this process and of the database beside it."""

import contextlib
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path


def cpu() -> float:
    """Return the seconds that this process and the database server it has started have worked."""
    worked = sum(map(_worked, _servers()))
    # Last, so that looking around counts for nobody.
    return worked / 1e9 + time.process_time()


def _servers() -> list[Path]:
    """Return the processes of PostgreSQL, if this process has loaded the driver."""
    if "psycopg" not in sys.modules:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text() == "postgres\n":
                found.append(entry)
    return found


def _worked(process: Path) -> int:
    with contextlib.suppress(OSError):
        return int((process / "schedstat").read_text().split()[0])
    return 0


async def spent(work: Callable[[], Awaitable[object]], times: int) -> float:
    """Return the milliseconds that `work` takes each time."""
    before = cpu()
    for _ in range(times):
        await work()
    return (cpu() - before) / times * 1000
