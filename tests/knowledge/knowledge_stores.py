"""Document stores with their indexer and search, on a real database."""

import asyncio
import hashlib
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from junto.domain.documents import Embedder, EmbeddingModel, SearchScope
from junto.domain.errors import ConfigurationError, SecurityError
from junto.knowledge.documents import DocumentLibrary
from junto.knowledge.embedding_worker import EmbeddingWorker
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.ingest.indexer import Indexer, PageResponse
from junto.knowledge.ingest.report import IndexReport
from junto.knowledge.ingest.targets import parse_target
from junto.knowledge.search import Search, SearchThresholds
from tests.event_loop import yield_to_tasks
from tests.storage.document_stores import ME, open_sqlite_stores
from tests.storage.document_stores import DocumentStores as Stores

DIMENSIONS = 64


class BagOfWordsEmbedder(Embedder):
    """Embeds a text as a bag of words: texts that share words are near each other."""

    def __init__(self, name: str = "bag", fail_on: str = "") -> None:
        self.name, self.fail_on = name, fail_on
        self.batch_sizes: list[int] = []

    @override
    async def model(self) -> EmbeddingModel:
        if self.fail_on == "model":
            raise ConfigurationError("Install it.")
        return EmbeddingModel(self.name, DIMENSIONS)

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        if self.fail_on == "embed":
            raise ConfigurationError("Install it.")
        self.batch_sizes.append(len(texts))
        await yield_to_tasks()
        return tuple(map(_embed_text, texts))


def _embed_text(text: str) -> bytes:
    numbers = [0.0001] * DIMENSIONS
    for word in text.lower().split():
        numbers[hashlib.sha256(word.strip(".,!?").encode()).digest()[0] % DIMENSIONS] += 1.0
    norm = sum(number * number for number in numbers) ** 0.5
    return struct.pack(f"<{DIMENSIONS}f", *(number / norm for number in numbers))


async def _refuse_fetch(_url: str, _max_bytes: int) -> PageResponse:
    raise SecurityError("It is not on the public web.")


@dataclass(frozen=True, slots=True)
class KnowledgeStores:
    """Documents, their search, and the indexer that fills them."""

    stores: Stores
    formats: DocumentParser
    library: DocumentLibrary
    search: Search
    embedder: Embedder | None

    def build_indexer(self, owner: str = ME, **overrides: object) -> Indexer:
        defaults: dict[str, object] = {"max_file_bytes": 1_000_000, "fetch": _refuse_fetch}
        return Indexer(self.stores.documents, self.formats, owner, **defaults | overrides)  # type: ignore[arg-type]

    async def index(self, target: Path | str, owner: str = ME, **overrides: object) -> IndexReport:
        indexer = self.build_indexer(owner, **overrides)
        parsed = parse_target(str(target))
        await indexer.index(parsed)
        return indexer.report

    async def find(self, query: str, owner: str = ME) -> list[str]:
        """Return the last path segment of the URL of each hit."""
        hits = (await self.search.find(owner, query, 10)).hits
        return [hit.document.url.rpartition("/")[2] for hit in hits]

    def build_embedding_worker(self) -> EmbeddingWorker:
        assert self.embedder
        return EmbeddingWorker(
            lambda: self.stores.vectors, self.embedder, self.library.content_changed
        )

    async def dump(self, owner: str = ME) -> list[tuple[str, str, str, str, str]]:
        """Return everything that is stored, except what differs between runs."""
        documents = await self.stores.documents.list_documents(
            SearchScope(owner=owner), "", 100_000
        )
        rows = []
        for document in documents:
            text = await self.stores.documents.read_text(owner, document.id, 0, document.length)
            rows.append((document.id, document.url, document.title, document.digest, text))
        return rows


@asynccontextmanager
async def room(
    folder: Path, embedder: Embedder | None = None, thresholds: SearchThresholds | None = None
) -> AsyncIterator[KnowledgeStores]:
    async with AsyncExitStack() as stack, DocumentParser() as formats:
        stores = open_sqlite_stores(folder / "junto.db", folder, stack)
        library = DocumentLibrary(stores.documents, asyncio.Event())
        search = Search(stores.search, embedder, thresholds or SearchThresholds(), library.refresh)
        yield KnowledgeStores(stores, formats, library, search, embedder)
