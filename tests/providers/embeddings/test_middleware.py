import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from junto.domain.documents import Model
from junto.domain.embeddings import Embedder
from junto.domain.errors import NetworkError
from junto.providers.embeddings.later import Later

MODEL = Model("m", 1)


@dataclass
class House:
    """Opens an embedder, and notes what happens to it."""

    broken: bool = False
    now: float = 0
    diary: list[str] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[Embedder]:
        self.diary.append("open")
        if self.broken:
            raise NetworkError("no way")
        yield self
        self.diary.append("close")
        self.closed.set()

    async def model(self) -> Model:
        return MODEL

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        await asyncio.sleep(0)
        return tuple(text.encode() for text in texts)


async def test_it_is_opened_once_for_all_who_come_at_once() -> None:
    house = House()
    later = Later(house.opening)

    found = await asyncio.gather(*(later.embed([str(n)]) for n in range(10)))

    assert found == [(str(n).encode(),) for n in range(10)]
    assert house.diary == ["open"]
    await later.close()
    assert house.diary == ["open", "close"]


async def test_nothing_is_opened_for_nothing_or_for_what_is_known() -> None:
    house = House()
    later = Later(house.opening, known=MODEL)

    assert await later.embed([]) == ()
    assert await later.model() == MODEL
    assert house.diary == []
    assert await Later(house.opening).model() == MODEL
    assert house.diary == ["open"]


async def test_it_is_closed_when_idle_and_opened_again_for_the_next() -> None:
    house = House()
    later = Later(house.opening, idle=0.01)

    await later.embed(["a"])
    await asyncio.wait_for(house.closed.wait(), 10)
    await later.embed(["b"])
    await later.close()

    assert house.diary == ["open", "close", "open", "close"]


async def test_what_failed_is_not_tried_again_at_once() -> None:
    house = House(broken=True)
    later = Later(house.opening, now=lambda: house.now)

    for _ in range(3):
        with pytest.raises(NetworkError, match="no way"):
            await later.embed(["a"])
    assert house.diary == ["open"]

    house.broken, house.now = False, 301
    assert await later.embed(["a"]) == (b"a",)
    assert house.diary == ["open", "open"]
