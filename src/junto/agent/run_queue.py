"""A first-in, first-out queue that limits how many runs are active at a time."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from junto.domain.errors import CapacityExceededError

_OnPosition = Callable[[int], None]


@dataclass(eq=False, slots=True)
class RunQueue:
    """Grants run slots in the order of the requests."""

    free_slots: int
    max_queued: int
    _waiters: "deque[tuple[asyncio.Future[None], _OnPosition]]" = field(
        default_factory=deque, init=False
    )

    @asynccontextmanager
    async def acquire_slot(self, on_position: _OnPosition) -> AsyncIterator[None]:
        """Hold a slot for the block; `on_position` is called with each position in the queue.

        Raises:
            CapacityExceededError: the queue is full.
        """
        if self.free_slots > 0:
            self.free_slots -= 1
        else:
            await self._wait_for_slot(on_position)
        try:
            yield
        finally:
            self._release_slot()

    async def _wait_for_slot(self, on_position: _OnPosition) -> None:
        if len(self._waiters) >= self.max_queued:
            raise CapacityExceededError(
                f"{len(self._waiters)} runs are waiting for Claude Code already. Try again later."
            )
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((granted, on_position))
        on_position(len(self._waiters))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._release_slot()  # the slot was granted while this was being cancelled
            else:
                self._waiters.remove((granted, on_position))
                self._notify_positions()
            raise

    def _release_slot(self) -> None:
        while self._waiters:
            granted, _ = self._waiters.popleft()
            if not granted.done():
                granted.set_result(None)
                self._notify_positions()
                return
        self.free_slots += 1

    def _notify_positions(self) -> None:
        for position, (_, on_position) in enumerate(self._waiters, start=1):
            on_position(position)
