"""Forgetting conversations, with models and with the agent, that nobody has touched for long."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from junto.domain.conversations import ConversationStore
from junto.domain.sessions import SessionStore
from junto.telemetry.logs import Log
from junto.work.tasks import beside

_log = Log.of("conversations")


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Deletes conversations that nobody has touched for long, every minute."""

    store: ConversationStore
    retention: float
    sessions: SessionStore | None = None
    every: float = 60.0
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sweep until the end of the block."""
        async with beside(self._run()):
            yield

    async def _run(self) -> None:
        while True:
            await self.sleep(self.every)
            try:
                await self.once()
            except Exception as error:  # noqa: BLE001 - the next minute may be better
                _log.warning("conversations not swept", reason=str(error))

    async def once(self) -> int:
        """Sweep once, and say how many went and how many are left."""
        before = self.now() - self.retention
        gone = await self.store.sweep(before)
        if self.sessions and (ended := await self.sessions.sweep(before)):
            _log.info("agent sessions swept", deleted=ended)
        left = await self.store.count()
        tell = _log.info if gone else _log.debug
        tell("conversations swept", deleted=gone, left=left)
        return gone
