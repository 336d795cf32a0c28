"""Places for runs: so many at once; others wait their turn, and know how many are before them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from junto.domain.errors import NoRoomError

_Told = Callable[[int], None]


@dataclass(eq=False, slots=True)
class Places:
    """Hands out places in the order of asking."""

    free: int
    most_waiting: int
    _queue: "deque[tuple[asyncio.Future[None], _Told]]" = field(default_factory=deque, init=False)

    @asynccontextmanager
    async def taken(self, told: _Told) -> AsyncIterator[None]:
        """Wait for a place and keep it for the block; `told` hears how many are before.

        Raises:
            NoRoomError: too many wait already.
        """
        if self.free > 0:
            self.free -= 1
        else:
            await self._wait(told)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, told: _Told) -> None:
        if len(self._queue) >= self.most_waiting:
            raise NoRoomError(
                f"{len(self._queue)} runs are waiting for Claude Code already. Try again later."
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((turn, told))
        told(len(self._queue))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()  # it came at the moment when nobody wanted it any more
            else:
                self._queue.remove((turn, told))
                self._tell()
            raise

    def _pass_on(self) -> None:
        while self._queue:
            turn, _ = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                self._tell()
                return
        self.free += 1

    def _tell(self) -> None:
        for before, (_, told) in enumerate(self._queue, start=1):
            told(before)
