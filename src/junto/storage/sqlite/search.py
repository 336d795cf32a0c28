"""Search in SQLite: by keywords in its full-text index, and by the vector files beside it."""

import itertools
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from junto.domain.documents import (
    PUBLIC_OWNER,
    EmbeddingModel,
    Match,
    Passage,
    SearchIndex,
    SearchScope,
    Source,
)
from junto.domain.errors import InputOutputError
from junto.storage.document_rows import DOCUMENT_SELECT, MESSAGE_JOINS, decode_passage
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.documents import build_scope_conditions

if TYPE_CHECKING:
    from junto.storage.sqlite.vector_files import VectorFiles

_BATCH_SIZE = 120
# A word in the title or a heading weighs more than one in the text.
_SELECT_RANKED = """
SELECT w.rowid AS key, bm25(passage_words, 1.5, 1.0) AS rank FROM passage_words w
{within} AND w.rowid >= :first ORDER BY rank
"""
_SELECT_MATCHES = """
SELECT w.rowid AS key FROM passage_words w {within}
"""
_SELECT_HAS_OTHER_OWNERS = """
SELECT EXISTS (SELECT 1 FROM documents WHERE owner > ? AND owner < ?)
    OR EXISTS (SELECT 1 FROM documents WHERE owner > ?)
"""
# CROSS JOIN fixes the order of the joins: otherwise SQLite might start with all documents of an
# owner.
_SCOPE_JOINS = f"""
CROSS JOIN passages p ON p.key = w.rowid
CROSS JOIN documents d ON d.key = p.document {MESSAGE_JOINS}
"""
_PASSAGES_BY_KEY = """
json_each({keys}) k CROSS JOIN passages p ON p.key = k.value
CROSS JOIN documents d ON d.key = p.document
"""
_SELECT_PASSAGES = f"""
SELECT {DOCUMENT_SELECT}, p.key, p.begins, p.ends, p.path, m.role,
    m.position, s.id AS conversation_id, substr(t.text, p.begins + 1, p.ends - p.begins) AS text
FROM {_PASSAGES_BY_KEY.format(keys="?")} JOIN texts t ON t.document = d.key {MESSAGE_JOINS}
"""


@dataclass(frozen=True, slots=True)
class SqliteSearch(SearchIndex):
    """A search index in a SQLite file and its vector files."""

    database: Callable[[], Awaitable[SqliteDatabase]]
    vectors: "Callable[[], VectorFiles]"
    # Ranking takes about a microsecond per matching passage, so the number of ranked passages is
    # limited: common words, which say least, are left out first.
    max_ranked: int = 5000

    @override
    async def search_keywords(
        self, scope: SearchScope, phrases: Sequence[str], limit: int
    ) -> tuple[Match, ...]:
        def read(db: sqlite3.Connection) -> tuple[Match, ...]:
            ranked = (
                (row["key"], -row["rank"])
                for row in _KeywordQuery.from_scope(db, scope, self.max_ranked).rank(phrases)
            )
            return tuple(itertools.islice(_filter_by_scope(db, scope, ranked), limit))

        return await (await self.database()).read(read)

    @override
    async def search_vectors(
        self, scope: SearchScope, model: EmbeddingModel, vector: bytes, limit: int
    ) -> tuple[Match, ...]:
        files = self.vectors()

        def read(db: sqlite3.Connection) -> tuple[Match, ...]:
            nearest = files.iter_nearest(db, model, vector)
            try:
                return tuple(itertools.islice(_filter_by_scope(db, scope, nearest), limit))
            except (OSError, ValueError, RuntimeError) as error:
                raise InputOutputError(
                    f"The files of vectors cannot be used ({type(error).__name__}). They can be "
                    "deleted, and are made again."
                ) from error

        return await (await self.database()).read(read)

    @override
    async def load_passages(self, keys: Sequence[int]) -> Mapping[int, Passage]:
        def read(db: sqlite3.Connection) -> dict[int, Passage]:
            rows = db.execute(_SELECT_PASSAGES, (json.dumps(list(keys)),))
            return {row["key"]: decode_passage(row) for row in rows}

        return await (await self.database()).read(read)


@dataclass(frozen=True, slots=True)
class _KeywordQuery:
    """A keyword query within a scope."""

    db: sqlite3.Connection
    max_ranked: int
    match_clause: str
    values: dict[str, Any]

    @classmethod
    def from_scope(
        cls, db: sqlite3.Connection, scope: SearchScope, max_ranked: int
    ) -> "_KeywordQuery":
        # If the scope covers nearly everything, it is cheaper to filter the best matches later.
        has_other_owners = db.execute(
            _SELECT_HAS_OTHER_OWNERS, (PUBLIC_OWNER, scope.owner, scope.owner)
        ).fetchone()[0]
        if not (has_other_owners or _is_narrow(scope)):
            return cls(db, max_ranked, "WHERE w.passage_words MATCH :query", {})
        conditions, values = build_scope_conditions(scope)
        match_clause = f"{_SCOPE_JOINS} WHERE w.passage_words MATCH :query AND {conditions}"
        return cls(db, max_ranked, match_clause, values)

    def rank(self, phrases: Sequence[str]) -> Iterator[sqlite3.Row]:
        """Return passages that contain the rarest phrases, best match first."""
        quoted = [f'"{phrase}"' for phrase in phrases]
        present = [pair for pair in sorted((self._count(each), each) for each in quoted) if pair[0]]
        if not present:
            return iter(())
        totals = itertools.accumulate(count for count, _ in present)
        rare = [
            each
            for (_, each), total in zip(present, totals, strict=True)
            if total <= self.max_ranked
        ]
        if rare:
            return self._execute(_SELECT_RANKED, " OR ".join(rare), first=0)
        # Even the rarest phrase is too common: rank the latest passages that contain all of them.
        all_phrases = " AND ".join(each for _, each in present)
        query = all_phrases if self._count(all_phrases) else present[0][1]
        latest = list(
            self._execute(f"{_SELECT_MATCHES} ORDER BY w.rowid DESC LIMIT {self.max_ranked}", query)
        )
        return self._execute(_SELECT_RANKED, query, first=latest[-1]["key"])

    def _count(self, query: str) -> int:
        """Return the number of matching passages, counted up to `max_ranked` + 1."""
        return int(
            next(
                self._execute(
                    f"SELECT count(*) FROM ({_SELECT_MATCHES} LIMIT {self.max_ranked + 1})", query
                )
            )[0]
        )

    def _execute(self, sql: str, query: str, **more: int) -> Iterator[sqlite3.Row]:
        values = {**self.values, "query": query, **more}
        return self.db.execute(sql.format(within=self.match_clause), values)


def _is_narrow(scope: SearchScope) -> bool:
    has_main_sources = {Source.DOCUMENTS, Source.CONVERSATIONS} <= set(scope.sources or Source)
    return not has_main_sources or scope != SearchScope(owner=scope.owner, sources=scope.sources)


def _filter_by_scope(
    db: sqlite3.Connection, scope: SearchScope, candidates: Iterator[tuple[int, float]]
) -> Iterator[Match]:
    """Yield the candidates within the scope, in their order."""
    conditions, values = build_scope_conditions(scope)
    sql = (
        f"SELECT p.key, p.document FROM {_PASSAGES_BY_KEY.format(keys=':keys')} {MESSAGE_JOINS} "
        f"WHERE {conditions}"
    )
    # Growing batches: either the first few candidates are enough, or the scope is narrow.
    sizes = (_BATCH_SIZE * 10**step for step in itertools.count())
    while batch := list(itertools.islice(candidates, next(sizes))):
        keys = json.dumps([key for key, _ in batch])
        rows = db.execute(sql, {**values, "keys": keys})
        documents = {row["key"]: row["document"] for row in rows}
        yield from (Match(key, documents[key], score) for key, score in batch if key in documents)
