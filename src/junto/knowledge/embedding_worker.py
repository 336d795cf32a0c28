"""Background embedding of passages: keyword search works at once, vector search follows."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from junto.domain.documents import Embedder, EmbeddingModel, VectorStore
from junto.domain.errors import JuntoError
from junto.domain.ids import new_id
from junto.runtime.tasks import background_task
from junto.telemetry.logs import Log

_log = Log.get("knowledge")

_BATCH_SIZE = 32
_LEASE_SECONDS, _RELEASE_TIMEOUT_SECONDS = 30.0, 1.0
_LEASE_POLL_SECONDS = 2.0
# Wait before a retry after a failure, and before a check for passages of other processes.
_MAX_IDLE_SECONDS = 300.0
# Servers with the same database may use different models, so only unused vectors are dropped.
_UNUSED_MODEL_SECONDS = 86_400.0
# Keeps embedding from slowing down the start of the server.
_START_DELAY_SECONDS = 5.0

_OnRemaining = Callable[[int], None]


def _ignore_remaining(_remaining: int) -> None:
    """Ignore the number of remaining passages."""


@dataclass(eq=False, slots=True)
class EmbeddingWorker:
    """A worker that embeds passages, in one process at a time."""

    open_store: Callable[[], VectorStore]
    embedder: Embedder
    # Set when documents are added or changed.
    content_changed: asyncio.Event
    # Called before each look for pending passages.
    prepare: Callable[[], Awaitable[None]] | None = None
    _worker_id: str = field(default_factory=new_id, init=False)

    @contextlib.asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[None]:
        """Embed passages in the background until the block ends."""
        async with background_task(self._run_forever()):
            yield

    async def embed_pending(self, on_remaining: _OnRemaining = _ignore_remaining) -> int:
        """Embed all pending passages, or wait until another process has.

        Returns:
            The number of passages that were pending.

        Raises:
            JuntoError: the embedder or the store fails.
        """
        model = await self.embedder.model()
        store = await asyncio.to_thread(self.open_store)  # may import a library
        await store.touch_model(model, time.time())
        pending = await store.count_pending(model)
        if pending > 0:
            try:
                await self._embed_batches(model, store, pending, on_remaining)
                await store.optimize(model, time.time() - _UNUSED_MODEL_SECONDS)
            finally:
                await self._release_lease(store)
        return max(0, pending)

    async def _embed_batches(
        self, model: EmbeddingModel, store: VectorStore, remaining: int, on_remaining: _OnRemaining
    ) -> None:
        last_key = 0
        while remaining > 0:
            on_remaining(remaining)
            if not await self._acquire_lease(store):
                await asyncio.sleep(_LEASE_POLL_SECONDS)
                remaining = await store.count_pending(model)
            elif batch := await store.list_pending(model, last_key, _BATCH_SIZE):
                vectors = await self.embedder.embed([each.text for each in batch])
                keys = [each.key for each in batch]
                await store.save_vectors(model, dict(zip(keys, vectors, strict=True)))
                remaining, last_key = remaining - len(batch), keys[-1]
            elif last_key:  # passages may have been added meanwhile
                remaining, last_key = await store.count_pending(model), 0
            else:
                return

    async def _release_lease(self, store: VectorStore) -> None:
        """Release the lease for other processes; if that fails, it expires by itself."""
        now = time.time()
        with contextlib.suppress(JuntoError, TimeoutError):
            async with asyncio.timeout(_RELEASE_TIMEOUT_SECONDS):
                await store.acquire_lease(self._worker_id, now, now)

    async def _acquire_lease(self, store: VectorStore) -> bool:
        now = time.time()
        return await store.acquire_lease(self._worker_id, now + _LEASE_SECONDS, now)

    async def _run_forever(self) -> None:
        await asyncio.sleep(_START_DELAY_SECONDS)
        last_error: str | None = None
        while True:
            self.content_changed.clear()
            try:
                if self.prepare:
                    await self.prepare()
                if count := await self.embed_pending():
                    _log.info("passages are searchable by meaning", passages=count)
                last_error = None
            except Exception as error:  # noqa: BLE001 - retried later
                if str(error) != last_error:
                    _log.warning("searching by words alone", reason=str(error))
                last_error = str(error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_MAX_IDLE_SECONDS):
                    await self.content_changed.wait()
