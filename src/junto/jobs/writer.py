"""Writes the updates of all jobs to the store in batches."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.errors import JuntoError
from junto.domain.jobs import JobStore
from junto.jobs.handle import JobHandle, JobWriter
from junto.jobs.timings import JobTimings
from junto.runtime.tasks import background_task
from junto.telemetry.logs import Log

_log = Log.get("jobs")


@dataclass(eq=False, slots=True)
class BatchJobWriter(JobWriter):
    """Writes the updates of all scheduled jobs in one transaction."""

    store: JobStore
    timings: JobTimings
    _dirty: dict[str, JobHandle] = field(default_factory=dict, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _urgent: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _flush_lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @override
    def schedule(self, handle: JobHandle) -> None:
        """Write the job's updates with the next batch."""
        self._dirty[handle.job.id] = handle
        self._changed.set()

    @override
    def schedule_now(self, handle: JobHandle) -> None:
        """Write the job's updates as soon as possible."""
        self.schedule(handle)
        self._urgent.set()

    def find_unwritten(self, id_: str) -> JobHandle | None:
        """Return a job that has unwritten updates, if there is one."""
        return self._dirty.get(id_)

    async def flush(self) -> None:
        """Write all pending updates.

        Raises:
            InputOutputError: the store failed; the updates are written again later.
        """
        async with self._flush_lock:
            self._changed.clear()
            self._urgent.clear()
            handles, self._dirty = self._dirty, {}
            updates = [
                (handle, record) for handle in handles.values() if (record := handle.take_record())
            ]
            if not updates:
                return
            try:
                lost = await self.store.save_updates([record for _, record in updates])
            except BaseException:
                for handle, _ in updates:
                    handle.mark_unwritten()
                    self._dirty.setdefault(handle.job.id, handle)
                self._changed.set()
                raise
            for handle, record in updates:
                handle.mark_written(record)
                if handle.job.id in lost:
                    handle.stop("Another server has given it up as lost.")

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Flush periodically during the block, and once more at its end."""
        try:
            async with background_task(self._flush_periodically()):
                yield
        finally:
            await self._flush_remaining()

    async def _flush_periodically(self) -> None:
        while True:
            await self._changed.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.timings.flush_interval_seconds):
                    await self._urgent.wait()
            if not await self._try_flush():
                await asyncio.sleep(self.timings.flush_interval_seconds)

    async def _flush_remaining(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.timings.final_flush_timeout_seconds):
                while not await self._try_flush():  # noqa: ASYNC110 - no event tells that the store works again
                    await asyncio.sleep(self.timings.flush_interval_seconds)
                return
        _log.warning("jobs were not written down in time", jobs=len(self._dirty))

    async def _try_flush(self) -> bool:
        try:
            await self.flush()
        except JuntoError as error:
            _log.warning("jobs not written down", jobs=len(self._dirty), reason=error.message)
            return False
        return True
