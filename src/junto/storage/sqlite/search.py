"""Passages found in SQLite: by its index of words, and by the files of vectors beside it."""

import itertools
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from junto.domain.documents import EVERYONE, Match, Model, Passage, Scope, SearchIndex, Source
from junto.domain.errors import InputOutputError
from junto.storage.document_rows import AROUND, SHOWN, read_passage
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.scopes import clauses

if TYPE_CHECKING:
    from junto.storage.sqlite.vectors import VectorFiles

_AT_ONCE = 120
# A word in the title or a heading says more about a passage than one in its text.
_RANKED = """
SELECT w.rowid AS key, bm25(passage_words, 1.5, 1.0) AS rank FROM passage_words w
{within} AND w.rowid >= :first ORDER BY rank
"""
_MATCHING = """
SELECT w.rowid AS key FROM passage_words w {within}
"""
_OTHERS = """
SELECT EXISTS (SELECT 1 FROM documents WHERE owner > ? AND owner < ?)
    OR EXISTS (SELECT 1 FROM documents WHERE owner > ?)
"""
# In this order, or SQLite might begin with everything that somebody owns.
_JOINED = f"""
CROSS JOIN passages p ON p.key = w.rowid CROSS JOIN documents d ON d.key = p.document {AROUND}
"""
_KEYED = """
json_each({keys}) k CROSS JOIN passages p ON p.key = k.value
CROSS JOIN documents d ON d.key = p.document
"""
_PASSAGES = f"""
SELECT {SHOWN}, p.key, p.begins, p.ends, p.path, m.role,
    m.position, s.id AS conversation_id, substr(t.text, p.begins + 1, p.ends - p.begins) AS text
FROM {_KEYED.format(keys="?")} JOIN texts t ON t.document = d.key {AROUND}
"""


@dataclass(frozen=True, slots=True)
class SqliteSearch(SearchIndex):
    """Searches a file."""

    database: Callable[[], Awaitable[Database]]
    vectors: "Callable[[], VectorFiles]"
    # Ranking takes about a microsecond for each passage that has one of the words, so only so many
    # are ranked: the rare words tell most, the common ones are left out first.
    most_ranked: int = 5000

    @override
    async def by_words(self, scope: Scope, phrases: Sequence[str], most: int) -> tuple[Match, ...]:
        def read(db: sqlite3.Connection) -> tuple[Match, ...]:
            found = (
                (row["key"], -row["rank"])
                for row in _Words.of(db, scope, self.most_ranked).ranked(phrases)
            )
            return tuple(itertools.islice(_within(db, scope, found), most))

        return await (await self.database()).read(read)

    @override
    async def by_meaning(
        self, scope: Scope, model: Model, vector: bytes, most: int
    ) -> tuple[Match, ...]:
        files = self.vectors()

        def read(db: sqlite3.Connection) -> tuple[Match, ...]:
            near = files.nearest(db, model, vector)
            try:
                return tuple(itertools.islice(_within(db, scope, near), most))
            except (OSError, ValueError, RuntimeError) as error:
                raise InputOutputError(
                    f"The files of vectors cannot be used ({type(error).__name__}). They can be "
                    "deleted, and are made again."
                ) from error

        return await (await self.database()).read(read)

    @override
    async def passages(self, keys: Sequence[int]) -> Mapping[int, Passage]:
        def read(db: sqlite3.Connection) -> dict[int, Passage]:
            rows = db.execute(_PASSAGES, (json.dumps(list(keys)),))
            return {row["key"]: read_passage(row) for row in rows}

        return await (await self.database()).read(read)


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of what is within a scope."""

    db: sqlite3.Connection
    most: int
    within: str
    values: dict[str, Any]

    @classmethod
    def of(cls, db: sqlite3.Connection, scope: Scope, most: int) -> "_Words":
        # Where a scope is nearly all there is, it is cheaper to look at the best alone, later.
        others = db.execute(_OTHERS, (EVERYONE, scope.owner, scope.owner)).fetchone()[0]
        if not (others or _is_narrow(scope)):
            return cls(db, most, "WHERE w.passage_words MATCH :query", {})
        which, values = clauses(scope)
        return cls(db, most, f"{_JOINED} WHERE w.passage_words MATCH :query AND {which}", values)

    def ranked(self, phrases: Sequence[str]) -> Iterator[sqlite3.Row]:
        """Return passages with the words that tell most, the best first."""
        quoted = [f'"{phrase}"' for phrase in phrases]
        present = [pair for pair in sorted((self._count(each), each) for each in quoted) if pair[0]]
        if not present:
            return iter(())
        totals = itertools.accumulate(count for count, _ in present)
        telling = [
            each for (_, each), total in zip(present, totals, strict=True) if total <= self.most
        ]
        if telling:
            return self._rows(_RANKED, " OR ".join(telling), first=0)
        # Even the rarest is everywhere: those with all words, and of them the latest.
        together = " AND ".join(each for _, each in present)
        wanted = together if self._count(together) else present[0][1]
        last = list(self._rows(f"{_MATCHING} ORDER BY w.rowid DESC LIMIT {self.most}", wanted))
        return self._rows(_RANKED, wanted, first=last[-1]["key"])

    def _count(self, query: str) -> int:
        """Return how many passages have it, up to one more than are ranked."""
        return int(
            next(self._rows(f"SELECT count(*) FROM ({_MATCHING} LIMIT {self.most + 1})", query))[0]
        )

    def _rows(self, sql: str, query: str, **more: int) -> Iterator[sqlite3.Row]:
        values = {**self.values, "query": query, **more}
        return self.db.execute(sql.format(within=self.within), values)


def _is_narrow(scope: Scope) -> bool:
    usual = {Source.DOCUMENTS, Source.CONVERSATIONS} <= set(scope.sources or Source)
    return not usual or scope != Scope(owner=scope.owner, sources=scope.sources)


def _within(
    db: sqlite3.Connection, scope: Scope, found: Iterator[tuple[int, float]]
) -> Iterator[Match]:
    """Yield those that are within the scope, in their order."""
    which, values = clauses(scope)
    sql = f"SELECT p.key, p.document FROM {_KEYED.format(keys=':keys')} {AROUND} WHERE {which}"
    # Ever more at once: either the first few are enough, or the scope is narrow.
    sizes = (_AT_ONCE * 10**step for step in itertools.count())
    while some := list(itertools.islice(found, next(sizes))):
        keys = json.dumps([key for key, _ in some])
        shown = {row["key"]: row["document"] for row in db.execute(sql, {**values, "keys": keys})}
        yield from (Match(key, shown[key], score) for key, score in some if key in shown)
