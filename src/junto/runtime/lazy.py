"""Opening what makes vectors with the first use, and closing it when nobody needs it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.documents import Model
from junto.domain.embeddings import Embedder
from junto.domain.errors import JuntoError

_REMEMBERED = 300.0


@dataclass(eq=False, slots=True)
class Later(Embedder):
    """An embedder that is there only while it is used, and for a while after.

    What could not be opened is not tried again for some minutes: a search should not wait each time
    for a download that fails.
    """

    opening: Callable[[], AbstractAsyncContextManager[Embedder]]
    known: Model | None = None  # which it will be, if that can be told without it
    idle: float | None = None  # seconds until it is closed; it stays open if unset
    now: Callable[[], float] = time.monotonic
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _inner: Embedder | None = field(default=None, init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)
    _users: int = field(default=0, init=False)
    _leaving: asyncio.TimerHandle | None = field(default=None, init=False)
    _closing: asyncio.Task[None] | None = field(default=None, init=False)
    _failed: tuple[float, JuntoError] | None = field(default=None, init=False)

    @override
    async def model(self) -> Model:
        if self.known:
            return self.known
        async with self._in_use() as inner:
            return await inner.model()

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        if not texts:
            return ()
        async with self._in_use() as inner:
            return await inner.embed(texts)

    async def close(self) -> None:
        """Close it; whoever uses it next opens it again."""
        if self._leaving:
            self._leaving.cancel()
        async with self._one_at_a_time:
            self._inner = None
            await self._stack.aclose()

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[Embedder]:
        self._users += 1
        if self._leaving:
            self._leaving.cancel()
        try:
            yield self._inner or await self._opened()
        finally:
            self._users -= 1
            if self.idle is not None and not self._users:
                loop = asyncio.get_running_loop()
                self._leaving = loop.call_later(self.idle, self._leave)

    async def _opened(self) -> Embedder:
        async with self._one_at_a_time:
            if self._inner is None:
                self._inner = await self._tried()
            return self._inner

    async def _tried(self) -> Embedder:
        if self._failed and self.now() < self._failed[0] + _REMEMBERED:
            raise self._failed[1].with_traceback(None)
        try:
            return await self._stack.enter_async_context(self.opening())
        except JuntoError as error:
            self._failed = (self.now(), error)
            raise

    def _leave(self) -> None:
        self._closing = asyncio.create_task(self._close_unless_used())

    async def _close_unless_used(self) -> None:
        if not self._users:
            await self.close()
