"""Resources that are opened on first use, such as a database that most starts do not need."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from junto.domain.errors import JuntoError

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Lazy(Generic[T]):
    """A resource that is opened on first use, and closed by `stack` or by `close`.

    With `idle_seconds`, it is also closed after that time without use, and opened again by the next
    one. If opening fails, the next use tries again; with `failure_seconds`, the same error is
    raised for that time instead, so that not every caller waits for something that fails slowly.
    """

    factory: Callable[[], AbstractAsyncContextManager[T]]
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    idle_seconds: float | None = None
    failure_seconds: float = 0.0
    now: Callable[[], float] = time.monotonic
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _resources: list[T] = field(default_factory=list, init=False)
    _users: int = field(default=0, init=False)
    _close_timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _close_task: asyncio.Task[None] | None = field(default=None, init=False)
    _last_failure: tuple[float, JuntoError] | None = field(default=None, init=False)

    @property
    def current(self) -> T | None:
        """The resource if it is open."""
        return self._resources[0] if self._resources else None

    async def __call__(self) -> T:
        """Return the resource, opened if necessary."""
        if not self._resources:
            async with self._lock:
                if not self._resources:
                    self._resources.append(await self._open())
        return self._resources[0]

    @asynccontextmanager
    async def use(self) -> AsyncIterator[T]:
        """Yield the resource, which is not closed for being idle meanwhile."""
        self._users += 1
        if self._close_timer:
            self._close_timer.cancel()
        try:
            yield await self()
        finally:
            self._users -= 1
            if self.idle_seconds is not None and not self._users:
                loop = asyncio.get_running_loop()
                self._close_timer = loop.call_later(self.idle_seconds, self._start_close)

    async def close(self) -> None:
        """Close the resource; the next use opens it again."""
        if self._close_timer:
            self._close_timer.cancel()
        async with self._lock:
            self._resources.clear()
            await self.stack.aclose()

    async def _open(self) -> T:
        if self._last_failure and self.now() < self._last_failure[0] + self.failure_seconds:
            raise self._last_failure[1].with_traceback(None)
        try:
            return await self.stack.enter_async_context(self.factory())
        except JuntoError as error:
            self._last_failure = (self.now(), error)
            raise

    def _start_close(self) -> None:
        self._close_task = asyncio.create_task(self._close_if_unused())

    async def _close_if_unused(self) -> None:
        if not self._users:
            await self.close()
