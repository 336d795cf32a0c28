"""Job services without a server, on a SQLite file, and work for their jobs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from junto.domain.ids import new_id
from junto.domain.jobs import JobStore, JsonObject
from junto.domain.pubsub import PubSub
from junto.jobs.handle import JobHandle
from junto.jobs.liveness import Liveness
from junto.jobs.service import JobLimits, JobService
from junto.jobs.timings import JobTimings
from junto.runtime.lazy import Lazy
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.jobs import SqliteJobs

ME = "me"
DONE: JsonObject = {"content": [], "isError": False}


@asynccontextmanager
async def open_store(folder: Path) -> AsyncIterator[JobStore]:
    async with AsyncExitStack() as stack:
        yield SqliteJobs(Lazy(lambda: SqliteDatabase.open(folder / "junto.db"), stack))


@asynccontextmanager
async def open_job_service(
    folder: Path,
    *,
    store: JobStore | None = None,
    signals: PubSub | None = None,
    timings: JobTimings | None = None,
    **limits: Any,
) -> AsyncIterator[JobService]:
    """Open the job service of one server; several may share a folder."""
    async with AsyncExitStack() as stack:
        if store is None:
            store = await stack.enter_async_context(open_store(folder))
        jobs = JobService(
            store=store,
            liveness=Liveness(folder / "servers", new_id()),
            limits=JobLimits(**{"drain_seconds": 0.0, **limits}),
            timings=timings or JobTimings(),
            signals=signals,
        )
        await stack.enter_async_context(jobs.open())
        yield jobs


async def run_forever(handle: JobHandle) -> JsonObject:
    """Add some text, then never finish."""
    handle.add_text("some words ")
    await asyncio.Event().wait()
    return DONE


async def run_briefly(handle: JobHandle) -> JsonObject:
    """Add some text and finish."""
    handle.add_text("all ")
    handle.add_text("said")
    return DONE


def start_job(jobs: JobService, work: Any = run_forever, owner: str = ME) -> JobHandle:
    return jobs.start(owner, "tool", "digest", work)
