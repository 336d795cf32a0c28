"""A whole room of knowledge on a real database, for tests."""

import asyncio
import hashlib
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from junto.domain.documents import Model, Scope
from junto.domain.embeddings import Embedder
from junto.domain.errors import ConfigurationError, SecurityError
from junto.knowledge.formats.service import Formats
from junto.knowledge.ingest.reports import Report
from junto.knowledge.ingest.service import Fetched, Indexer
from junto.knowledge.ingest.targets import target
from junto.knowledge.library import Library
from junto.knowledge.placing import Placing
from junto.knowledge.service import Search, Standards
from tests.storage.libraries import ME, on_sqlite
from tests.storage.libraries import Library as Stores

WORDS = 64


class Bag(Embedder):
    """Makes vectors of the words in a text: texts with the same words are near each other."""

    def __init__(self, name: str = "bag", failing: str = "") -> None:
        self.name, self.failing = name, failing
        self.asked: list[int] = []

    @override
    async def model(self) -> Model:
        if self.failing == "model":
            raise ConfigurationError("Install it.")
        return Model(self.name, WORDS)

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        if self.failing == "embed":
            raise ConfigurationError("Install it.")
        self.asked.append(len(texts))
        await asyncio.sleep(0)
        return tuple(map(_vector, texts))


def _vector(text: str) -> bytes:
    numbers = [0.0001] * WORDS
    for word in text.lower().split():
        numbers[hashlib.sha256(word.strip(".,!?").encode()).digest()[0] % WORDS] += 1.0
    length = sum(number * number for number in numbers) ** 0.5
    return struct.pack(f"<{WORDS}f", *(number / length for number in numbers))


async def _nowhere(_url: str, _most: int) -> Fetched:
    raise SecurityError("It is not on the public web.")


@dataclass(frozen=True, slots=True)
class Room:
    """Documents, their search, and what fills them."""

    stores: Stores
    formats: Formats
    library: Library
    search: Search
    embedder: Embedder | None

    def indexer(self, owner: str = ME, **more: object) -> Indexer:
        facts: dict[str, object] = {"largest": 1_000_000, "fetch": _nowhere}
        return Indexer(self.stores.documents, self.formats, owner, **facts | more)  # type: ignore[arg-type]

    async def index(self, what: Path | str, owner: str = ME, **more: object) -> Report:
        indexer = self.indexer(owner, **more)
        found = target(str(what))
        await indexer.index(found)
        return indexer.report

    async def found(self, query: str, owner: str = ME) -> list[str]:
        """Return the last part of the addresses of what was found."""
        hits = (await self.search.find(owner, query, 10)).hits
        return [hit.document.url.rpartition("/")[2] for hit in hits]

    def placing(self) -> Placing:
        assert self.embedder
        return Placing(lambda: self.stores.vectors, self.embedder, self.library.news)

    async def dump(self, owner: str = ME) -> list[tuple[str, str, str, str, str]]:
        """Return all that is kept, without what is different in every run."""
        listed = await self.stores.documents.listed(Scope(owner=owner), "", 100_000)
        kept = []
        for document in listed:
            text = await self.stores.documents.text(owner, document.id, 0, document.length)
            kept.append((document.id, document.url, document.title, document.digest, text))
        return kept


@asynccontextmanager
async def room(
    folder: Path, embedder: Embedder | None = None, standards: Standards | None = None
) -> AsyncIterator[Room]:
    async with AsyncExitStack() as stack, Formats() as formats:
        stores = on_sqlite(folder / "junto.db", folder, stack)
        library = Library(stores.documents, asyncio.Event())
        search = Search(stores.search, embedder, standards or Standards(), library.freshen)
        yield Room(stores, formats, library, search, embedder)
