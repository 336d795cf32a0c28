"""How well the search finds, on public collections with judgements: `python -m bench.quality DIR…`.

With several folders, the share of queries that find anything is measured, too: the collection's
own, those of the other collections, and nonsense.

A folder holds either Cranfield (`cran.all.1400`, `cran.qry`, `cranqrel`) or a collection as BEIR
has them (`corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`). The figure is nDCG@10.
"""

import asyncio
import json
import math
import random
import re
import string
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from junto.domain.documents import (
    Embedder,
    EmbeddingModel,
    Match,
    Passage,
    SearchIndex,
    SearchScope,
    Source,
)
from junto.knowledge.embedding_worker import EmbeddingWorker
from junto.knowledge.passages import build_markdown_entry
from junto.knowledge.search import Search, SearchThresholds
from junto.providers.embeddings.from_settings import MINILM_MODEL
from junto.providers.embeddings.minilm import build_minilm_weights, open_minilm
from junto.runtime.lazy import Lazy
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.documents import SqliteDocuments
from junto.storage.sqlite.search import SqliteSearch
from junto.storage.sqlite.vector_files import VectorFiles
from junto.storage.sqlite.vector_store import SqliteVectors

ME = "me"
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, questions, and how well the one answers the other."""

    documents: dict[str, tuple[str, str]]
    questions: dict[str, str]
    judgements: dict[str, dict[str, int]]


def read(folder: Path) -> Collection:
    return cranfield(folder) if (folder / "cran.qry").exists() else beir(folder)


def cranfield(folder: Path) -> Collection:
    documents = {}
    for number, fields in _records(folder / "cran.all.1400"):
        documents[number] = (fields.get("T", ""), fields.get("W", ""))
    # The judgements number questions by their place, whatever the file of questions calls them.
    asked = (fields["W"] for _, fields in _records(folder / "cran.qry"))
    questions = {str(place): text for place, text in enumerate(asked, 1)}
    judgements: dict[str, dict[str, int]] = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        # Whatever the degree: what the degrees mean is told in two contrary ways.
        question, document = line.split()[:2]
        judgements.setdefault(question, {})[document] = 1
    return Collection(documents, questions, judgements)


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for record in re.split(r"^\.I ", path.read_text("latin-1"), flags=re.MULTILINE)[1:]:
        number, _, rest = record.partition("\n")
        parts = re.split(r"^\.([TABW])\n", rest, flags=re.MULTILINE)[1:]
        fields = zip(parts[::2], parts[1::2], strict=True)
        yield str(int(number)), {name: " ".join(text.split()) for name, text in fields}


def beir(folder: Path) -> Collection:
    corpus = _read_json_lines(folder / "corpus.jsonl")
    documents = {each["_id"]: (each.get("title", ""), each["text"]) for each in corpus}
    texts = {each["_id"]: each["text"] for each in _read_json_lines(folder / "queries.jsonl")}
    judgements: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        question, document, score = line.split("\t")
        if int(score) > 0:
            judgements.setdefault(question, {})[document] = int(score)
    return Collection(documents, {each: texts[each] for each in judgements}, judgements)


def _read_json_lines(path: Path) -> Iterator[dict[str, str]]:
    # Not splitlines(), which also splits at other separators within a text.
    yield from map(json.loads, path.read_text("utf-8").strip().split("\n"))


def gain(found: Sequence[str], judged: dict[str, int]) -> float:
    """Return nDCG@10 of one question."""

    def sum_of(values: Sequence[int]) -> float:
        return sum(value / math.log2(place + 2) for place, value in enumerate(values[:DEPTH]))

    best = sum_of(sorted(judged.values(), reverse=True))
    return sum_of([judged.get(each, 0) for each in found]) / best


@dataclass(frozen=True, slots=True)
class Half(SearchIndex):
    """An index without one of its halves."""

    inner: SearchIndex
    words: bool = True
    meaning: bool = True

    @override
    async def search_keywords(
        self, scope: SearchScope, phrases: Sequence[str], limit: int
    ) -> tuple[Match, ...]:
        return await self.inner.search_keywords(scope, phrases, limit) if self.words else ()

    @override
    async def search_vectors(
        self, scope: SearchScope, model: EmbeddingModel, vector: bytes, limit: int
    ) -> tuple[Match, ...]:
        return await self.inner.search_vectors(scope, model, vector, limit) if self.meaning else ()

    @override
    async def load_passages(self, keys: Sequence[int]) -> dict[int, Passage]:
        return dict(await self.inner.load_passages(keys))


@dataclass(slots=True)
class Remembering(Embedder):
    """Asks for the vector of a question once."""

    inner: Embedder
    known: dict[str, bytes] = field(default_factory=dict)

    @override
    async def model(self) -> EmbeddingModel:
        return await self.inner.model()

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        if len(texts) > 1:
            return await self.inner.embed(texts)
        if texts[0] not in self.known:
            (self.known[texts[0]],) = await self.inner.embed(texts)
        return (self.known[texts[0]],)


def nobody(_left: int) -> None:
    """Hear how many vectors are left to be made, and do nothing."""


def build_nonsense(count: int) -> list[str]:
    """Return queries of one to four words that no language has."""
    chance = random.Random(1)  # noqa: S311 - the same nonsense in every run
    return [
        " ".join(
            "".join(chance.choices(string.ascii_lowercase, k=chance.randint(4, 9)))
            for _ in range(chance.randint(1, 4))
        )
        for _ in range(count)
    ]


async def measured(
    collection: Collection,
    folder: Path,
    told: Callable[[int], None] = nobody,
    off_topic: Sequence[str] = (),
) -> dict[str, float]:
    """Return nDCG@10 of the words alone, of the meaning alone, and of both.

    With off-topic queries, return the shares of queries that find anything as well.
    """
    async with AsyncExitStack() as stack:
        small = await stack.enter_async_context(
            open_minilm(build_minilm_weights(folder / "weights"), 2)
        )
        embedder = Remembering(small)
        file = Lazy(lambda: SqliteDatabase.open(folder / "junto.db"), stack)
        files = VectorFiles(folder / "vectors", 100_000)
        store, index = SqliteDocuments(file), SqliteSearch(file, lambda: files)
        entries = [
            await build_markdown_entry(id_, ME, Source.DOCUMENTS, title, f"{text}\n")
            for id_, (title, text) in collection.documents.items()
        ]
        for start in range(0, len(entries), 500):
            await store.save(entries[start : start + 500])
        placing = EmbeddingWorker(
            lambda: SqliteVectors(file, lambda: files), embedder, asyncio.Event()
        )
        await placing.embed_pending(told)
        found = {}
        for name, half in (
            ("words", Half(index, meaning=False)),
            ("meaning", Half(index, words=False)),
            ("both", Half(index)),
        ):
            # Without a floor, as rankings are compared.
            search = Search(half, embedder, SearchThresholds(min_score=0, min_similarity=-1))
            gains = []
            for id_, question in collection.questions.items():
                if judged := collection.judgements.get(id_):
                    hits = (await search.find(ME, question, DEPTH)).hits
                    gains.append(gain([hit.document.id for hit in hits], judged))
            found[name] = sum(gains) / len(gains)
        if off_topic:
            search = Search(index, embedder, SearchThresholds())
            for name, queries in (
                ("own queries", list(collection.questions.values())),
                ("off-topic", off_topic),
                ("nonsense", build_nonsense(200)),
            ):
                results = [bool((await search.find(ME, query, 1)).hits) for query in queries]
                found[f"found something: {name}"] = sum(results) / len(results)
        return found


def _told(left: int) -> None:
    print(f"\r{left} vectors left ", end="", file=sys.stderr)


def main(folders: list[str]) -> None:
    print(f"nDCG@10 with {MINILM_MODEL.name}")
    collections = {folder: read(Path(folder)) for folder in folders}
    for folder, collection in collections.items():
        others = [each for each in collections.values() if each is not collection]
        off_topic = [query for each in others for query in list(each.questions.values())[:100]]
        with tempfile.TemporaryDirectory() as place:
            found = asyncio.run(measured(collection, Path(place), _told, off_topic))
        shown = "  ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"{Path(folder).name}: {shown}")


if __name__ == "__main__":
    main(sys.argv[1:])
