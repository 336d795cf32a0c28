"""Jobs without a server: on a store in a file, with work that does as it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from junto.domain.ids import new_id
from junto.domain.jobs import JobStore, State
from junto.domain.signals import Signals
from junto.jobs.presence import Presence
from junto.jobs.running import Outcome, Running
from junto.jobs.service import Bounds, Jobs
from junto.storage.lazily import Lazily
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.jobs import SqliteJobs

ME = "me"
DONE = Outcome(State.COMPLETED, {"content": [], "isError": False})


@asynccontextmanager
async def stored(folder: Path) -> AsyncIterator[JobStore]:
    async with AsyncExitStack() as stack:
        yield SqliteJobs(Lazily(lambda: Database.opened(folder / "junto.db"), stack))


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    store: JobStore | None = None,
    signals: Signals | None = None,
    **bounds: Any,
) -> AsyncIterator[Jobs]:
    """A server's jobs; several of them may share a folder."""
    async with AsyncExitStack() as stack:
        if store is None:
            store = await stack.enter_async_context(stored(folder))
        jobs = Jobs(
            store=store,
            presence=Presence(folder / "servers", new_id()),
            bounds=Bounds(**{"drain": 0.0, **bounds}),
            signals=signals,
        )
        await stack.enter_async_context(jobs.open())
        yield jobs


async def endless(running: Running) -> Outcome:
    """Say something, then work for ever."""
    running.says("some words ")
    await asyncio.Event().wait()
    return DONE


async def quick(running: Running) -> Outcome:
    """Say something and be done."""
    running.says("all ")
    running.says("said")
    return DONE


def begun(jobs: Jobs, work: Any = endless, owner: str = ME) -> Running:
    return jobs.start(owner, "tool", "digest", work)
