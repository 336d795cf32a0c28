"""Writing down what jobs say, for all of them together and not for each word."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.errors import JuntoError
from junto.domain.jobs import JobStore
from junto.jobs.running import Running, Writer
from junto.telemetry.logs import Log
from junto.work.tasks import beside

_log = Log.of("jobs")

# What is said between two writings is lost if the process is killed.
_EVERY = 0.5
_LAST_SECONDS = 5.0


@dataclass(eq=False, slots=True)
class Journal(Writer):
    """Writes what is new about jobs, soon or at once, one transaction for all that wait."""

    store: JobStore
    every: float = _EVERY
    _dirty: dict[str, Running] = field(default_factory=dict, init=False)
    _any: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _urgent: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @override
    def soon(self, running: Running) -> None:
        """Write what is new about a job with whatever else there is."""
        self._dirty[running.job.id] = running
        self._any.set()

    @override
    def at_once(self, running: Running) -> None:
        """Write what is new about a job without waiting for more."""
        self.soon(running)
        self._urgent.set()

    def unwritten(self, id_: str) -> Running | None:
        """Return a job of which something could not be written down yet."""
        return self._dirty.get(id_)

    async def flush(self) -> None:
        """Write down everything that is known now.

        Raises:
            InputOutputError: the store would not; it is tried again later.
        """
        async with self._one_at_a_time:
            self._any.clear()
            self._urgent.clear()
            waiting, self._dirty = self._dirty, {}
            news = [(each, record) for each in waiting.values() if (record := each.record())]
            if not news:
                return
            try:
                lost = await self.store.write([record for _, record in news])
            except BaseException:
                for running, _ in news:
                    running.forgot()
                    self._dirty.setdefault(running.job.id, running)
                self._any.set()
                raise
            for running, record in news:
                running.wrote(record)
                if running.job.id in lost:
                    running.stop("Another server has given it up as lost.")

    @contextlib.asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Write until the end of the block, and then what is left."""
        try:
            async with beside(self._keep()):
                yield
        finally:
            await self._finish()

    async def _keep(self) -> None:
        while True:
            await self._any.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.every):
                    await self._urgent.wait()
            if not await self._tried():
                await asyncio.sleep(self.every)

    async def _finish(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while not await self._tried():  # noqa: ASYNC110 - the store, not we, must change
                    await asyncio.sleep(self.every)
                return
        _log.warning("jobs were not written down in time", jobs=len(self._dirty))

    async def _tried(self) -> bool:
        try:
            await self.flush()
        except JuntoError as error:
            _log.warning("jobs not written down", jobs=len(self._dirty), reason=error.message)
            return False
        return True
