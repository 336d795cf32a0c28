"""Giving up what dead servers have left, and forgetting what is old."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from junto.domain.errors import JuntoError
from junto.domain.jobs import JobStore
from junto.jobs.presence import Presence
from junto.telemetry.logs import Log

_log = Log.of("jobs")

# A server elsewhere that was not heard of for so long is taken for dead.
_DEAD_AFTER = 30.0
# A start has better things to do.
_BEFORE = 3.0
_EVERY = 60.0
_LOST = {
    "code": "Lost",
    "message": "The server that worked on this died. What it had said is kept; ask again for more.",
    "retryable": True,
}


@dataclass(frozen=True, slots=True)
class Tidy:
    """Looks after the records of all servers, soon after the start and then each minute."""

    store: JobStore
    presence: Presence
    retention: float
    now: Callable[[], float]

    async def run(self) -> None:
        """Tidy up again and again."""
        await asyncio.sleep(_BEFORE)
        while True:
            try:
                await self.settle_lost()
                self.presence.tidy()
                swept = await self.store.sweep(self.now() - self.retention)
                (_log.info if swept else _log.debug)("jobs swept", deleted=swept)
            except JuntoError as error:
                _log.warning("jobs not swept", reason=error.message)
            await asyncio.sleep(_EVERY)

    async def settle_lost(self) -> int:
        """Give up jobs whose servers are dead, and return how many that were."""
        lost = 0
        for server, ago in (await self.store.unfinished()).items():
            if server != self.presence.server and not self._lives(server, ago):
                lost += await self.store.lose(server, self.now(), _LOST)
                self.presence.forget(server)
        if lost:
            _log.warning("jobs were lost with their server", jobs=lost)
        return lost

    def _lives(self, server: str, ago: float) -> bool:
        seen = self.presence.of(server)
        return ago < _DEAD_AFTER if seen is None else seen
