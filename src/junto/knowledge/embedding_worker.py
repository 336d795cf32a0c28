"""Vectors made behind the scenes: words are searchable at once, and their meaning follows."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from junto.domain.documents import Model, VectorStore
from junto.domain.embeddings import Embedder
from junto.domain.errors import JuntoError
from junto.domain.ids import new_id
from junto.telemetry.logs import Log
from junto.work.tasks import beside

_log = Log.of("knowledge")

_AT_ONCE = 32
_LEASE, _MOMENT = 30.0, 1.0
_LOOK_AGAIN = 2.0
# After a failure, and in case another process has put something in.
_PAUSE = 300.0
# Servers of one database may have different models; what one of them uses, none of them drops.
_DISUSED = 86_400.0
# A start has better things to do.
_BEFORE = 5.0

Told = Callable[[int], None]


def _nobody(_left: int) -> None:
    """Hear how many are left, and do nothing."""


@dataclass(eq=False, slots=True)
class Placing:
    """Gives every passage its vector, one process of all at a time."""

    open_store: Callable[[], VectorStore]
    embedder: Embedder
    # Set by whoever has put something in.
    news: asyncio.Event
    # What is to be done before looking for passages.
    prepare: Callable[[], Awaitable[None]] | None = None
    _me: str = field(default_factory=new_id, init=False)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work in the background until the end of the block."""
        async with beside(self._forever()):
            yield

    async def finish(self, told: Told = _nobody) -> int:
        """Place all that is left, or wait until another process has; return how many there were.

        Raises:
            JuntoError: vectors cannot be made.
        """
        model = await self.embedder.model()
        store = await asyncio.to_thread(self.open_store)  # it may import a library
        await store.use(model, time.time())
        begun = await store.left(model)
        if begun > 0:
            try:
                await self._place(model, store, begun, told)
                await store.settle(model, time.time() - _DISUSED)
            finally:
                await self._let_go(store)
        return max(0, begun)

    async def _place(self, model: Model, store: VectorStore, left: int, told: Told) -> None:
        after = 0
        while left > 0:
            told(left)
            if not await self._holds(store):
                await asyncio.sleep(_LOOK_AGAIN)
                left = await store.left(model)
            elif some := await store.unplaced(model, after, _AT_ONCE):
                vectors = await self.embedder.embed([each.text for each in some])
                keys = [each.key for each in some]
                await store.place(model, dict(zip(keys, vectors, strict=True)))
                left, after = left - len(some), keys[-1]
            elif after:  # others may have put something in meanwhile
                left, after = await store.left(model), 0
            else:
                return

    async def _let_go(self, store: VectorStore) -> None:
        """Say that others may go on; who cannot say it in a moment leaves it to the clock."""
        now = time.time()
        with contextlib.suppress(JuntoError, TimeoutError):
            async with asyncio.timeout(_MOMENT):
                await store.hold(self._me, now, now)

    async def _holds(self, store: VectorStore) -> bool:
        now = time.time()
        return await store.hold(self._me, now + _LEASE, now)

    async def _forever(self) -> None:
        await asyncio.sleep(_BEFORE)
        last: str | None = None
        while True:
            self.news.clear()
            try:
                if self.prepare:
                    await self.prepare()
                if count := await self.finish():
                    _log.info("passages are searchable by meaning", passages=count)
                last = None
            except Exception as error:  # noqa: BLE001 - another time may be better
                if str(error) != last:
                    _log.warning("searching by words alone", reason=str(error))
                last = str(error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE):
                    await self.news.wait()
