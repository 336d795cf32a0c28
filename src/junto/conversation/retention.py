"""Deletion of conversations and agent sessions that have not been used for a long time."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from junto.domain.conversations import ConversationStore
from junto.domain.sessions import SessionStore
from junto.runtime.tasks import background_task
from junto.telemetry.logs import Log

_log = Log.get("conversations")


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Periodically deletes conversations and agent sessions unused for `retention_seconds`."""

    store: ConversationStore
    retention_seconds: float
    sessions: SessionStore | None = None
    interval_seconds: float = 60.0
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @contextlib.asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[None]:
        """Sweep periodically until the block ends."""
        async with background_task(self._run()):
            yield

    async def _run(self) -> None:
        while True:
            await self.sleep(self.interval_seconds)
            try:
                await self.sweep()
            except Exception as error:  # noqa: BLE001 - the next sweep may succeed
                _log.warning("conversations not swept", reason=str(error))

    async def sweep(self) -> int:
        """Sweep once, and return how many conversations were deleted."""
        cutoff = self.now() - self.retention_seconds
        deleted = await self.store.delete_expired(cutoff)
        if self.sessions and (deleted_sessions := await self.sessions.delete_expired(cutoff)):
            _log.info("agent sessions swept", deleted=deleted_sessions)
        remaining = await self.store.count()
        log = _log.info if deleted else _log.debug
        log("conversations swept", deleted=deleted, left=remaining)
        return deleted
