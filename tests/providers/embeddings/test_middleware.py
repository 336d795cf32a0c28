import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from junto.domain.documents import Embedder, EmbeddingModel
from junto.domain.errors import NetworkError
from junto.providers.embeddings.middleware import LazyEmbedder
from tests.event_loop import yield_to_tasks

MODEL = EmbeddingModel("m", 1)


@dataclass
class FakeEmbedder:
    """An embedder that records when it is opened and closed."""

    fails: bool = False
    now: float = 0
    log: list[str] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Embedder]:
        self.log.append("open")
        if self.fails:
            raise NetworkError("no way")
        yield self
        self.log.append("close")
        self.closed.set()

    async def model(self) -> EmbeddingModel:
        return MODEL

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        await yield_to_tasks()
        return tuple(text.encode() for text in texts)


async def test_concurrent_callers_open_the_embedder_once() -> None:
    fake = FakeEmbedder()
    embedder = LazyEmbedder(fake.open)

    vectors = await asyncio.gather(*(embedder.embed([str(n)]) for n in range(10)))

    assert vectors == [(str(n).encode(),) for n in range(10)]
    assert fake.log == ["open"]
    await embedder.close()
    assert fake.log == ["open", "close"]


async def test_no_texts_and_a_known_model_do_not_open_the_embedder() -> None:
    fake = FakeEmbedder()
    embedder = LazyEmbedder(fake.open, known_model=MODEL)

    assert await embedder.embed([]) == ()
    assert await embedder.model() == MODEL
    assert fake.log == []
    assert await LazyEmbedder(fake.open).model() == MODEL
    assert fake.log == ["open"]


async def test_the_embedder_is_closed_when_idle_and_reopened_by_the_next_call() -> None:
    fake = FakeEmbedder()
    embedder = LazyEmbedder(fake.open, idle_seconds=0.01)

    await embedder.embed(["a"])
    await asyncio.wait_for(fake.closed.wait(), 10)
    await embedder.embed(["b"])
    await embedder.close()

    assert fake.log == ["open", "close", "open", "close"]


async def test_a_failed_open_is_not_retried_immediately() -> None:
    fake = FakeEmbedder(fails=True)
    embedder = LazyEmbedder(fake.open, now=lambda: fake.now)

    for _ in range(3):
        with pytest.raises(NetworkError, match="no way"):
            await embedder.embed(["a"])
    assert fake.log == ["open"]

    fake.fails, fake.now = False, 301
    assert await embedder.embed(["a"]) == (b"a",)
    assert fake.log == ["open", "open"]
