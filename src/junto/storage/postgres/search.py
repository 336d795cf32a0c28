"""Search in PostgreSQL: by keywords in its full-text index, and by vectors."""

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from junto.domain.documents import EmbeddingModel, Match, Passage, SearchIndex, SearchScope
from junto.storage.document_rows import DOCUMENT_SELECT, MESSAGE_JOINS, decode_passage
from junto.storage.postgres.database import PostgresDatabase
from junto.storage.postgres.document_sql import build_scope_conditions, build_text_slice
from junto.storage.postgres.vector_store import ensure_extension, find_embedder, find_nearest
from junto.storage.postgres.word_counts import (
    WordCount,
    build_or_query,
    count_words,
    load_owner_terms,
)

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_SELECT_PASSAGES = f"""
SELECT {DOCUMENT_SELECT}, p.key, p.begins, p.ends, p.path, m.role, m.position,
    s.id AS conversation_id, {build_text_slice("d.key", "p.begins", "p.ends")} AS text
FROM passages p JOIN documents d ON d.key = p.document {MESSAGE_JOINS}
WHERE p.key = ANY(%s)
"""
# Index scans are always best here, however many passages have a word. JIT compilation and parallel
# workers take longer than the query itself.
_PLANNER_SETTINGS = """
SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true),
    set_config('random_page_cost', '1.1', true)
"""
_SELECT_SCOPE_KEYS = f"""
SELECT p.key FROM documents d JOIN passages p ON p.document = d.key {MESSAGE_JOINS}
WHERE {{which}} LIMIT %(enough)s
"""
_SELECT_CANDIDATES = "SELECT * FROM passage_words WHERE words @@ %(wanted)s::tsquery"
# The inner query sorts keys without their words, which might not fit into memory.
_SELECT_LATEST = """
SELECT * FROM passage_words WHERE passage = ANY(ARRAY(
    SELECT passage FROM passage_words WHERE words @@ %(wanted)s::tsquery
    ORDER BY passage DESC LIMIT {most}
))
"""
_SELECT_RANKED = f"""
SELECT w.passage AS key, w.document, ({{ranks}}) / ln(10 + length(w.words)) AS score
FROM ({{candidates}}) AS w JOIN documents d ON d.key = w.document {MESSAGE_JOINS}
WHERE {{which}} ORDER BY score DESC, key DESC LIMIT %(most)s
"""
# A word in the title or a heading weighs more than one in the text. ts_rank ignores how rare a word
# is, so each word is ranked separately and weighted by its rarity. `_SELECT_RANKED` divides by the
# length, because longer passages have more matches. The constants performed best on two test
# collections with known answers.
_RANK_TERM = "%(rarity{n})s * ts_rank('{{0.7, 0.7, 0.7, 1}}', w.words, %(word{n})s::tsquery)"


@dataclass(frozen=True, slots=True)
class PostgresSearch(SearchIndex):
    """A search index in PostgreSQL."""

    database: Callable[[], Awaitable[PostgresDatabase]]
    # Ranking takes some microseconds per matching passage, so the number of ranked passages is
    # limited: common words, which say least, are left out first.
    max_ranked: int = 2000

    @override
    async def search_keywords(
        self, scope: SearchScope, phrases: Sequence[str], limit: int
    ) -> tuple[Match, ...]:
        if not phrases:
            return ()
        async with (await self.database()).transaction() as db:
            return await _rank_passages(db, scope, phrases, self.max_ranked, limit)

    @override
    async def search_vectors(
        self, scope: SearchScope, model: EmbeddingModel, vector: bytes, limit: int
    ) -> tuple[Match, ...]:
        database = await self.database()
        async with database.transaction() as db:
            embedder_key = await find_embedder(db, model)
            if embedder_key is not None:
                return await find_nearest(db, embedder_key, scope, vector, limit)
        await ensure_extension(database)
        return ()

    @override
    async def load_passages(self, keys: Sequence[int]) -> Mapping[int, Passage]:
        async with (await self.database()).transaction() as db:
            rows = await (await db.execute(_SELECT_PASSAGES.encode(), (list(keys),))).fetchall()
        return {row["key"]: decode_passage(row) for row in rows}


async def _rank_passages(
    db: "Connection", scope: SearchScope, phrases: Sequence[str], max_ranked: int, limit: int
) -> tuple[Match, ...]:
    """Return passages that contain the rarest phrases, best match first."""
    await db.execute(_PLANNER_SETTINGS)
    owner_terms = await load_owner_terms(db, scope.owner)
    words = await count_words(db, phrases, owner_terms, max_ranked + 1)
    if not words:
        return ()
    owner_query = f" & ({build_or_query(owner_terms)})" if owner_terms else ""
    rows = await _KeywordRanking(db, scope, words, owner_query, max_ranked, limit).fetch_best()
    return tuple(Match(row["key"], row["document"], row["score"]) for row in rows)


@dataclass(frozen=True, slots=True)
class _KeywordRanking:
    """A ranking by words within a scope, the rarest word first."""

    db: "Connection"
    scope: SearchScope
    words: list[WordCount]
    owner_query: str
    max_ranked: int
    limit: int

    async def fetch_best(self) -> list[dict[str, Any]]:
        """Return the keys of the best passages, their documents and their scores."""
        keys = await self._load_scope_keys()
        if keys is not None:
            candidates = f"{_SELECT_CANDIDATES} AND passage = ANY(%(few)s)"
            return await self._fetch_rows(candidates, _join_words(" | ", self.words), keys)
        totals = itertools.accumulate(word.passage_count for word in self.words)
        pairs = zip(self.words, totals, strict=True)
        rare = [word for word, total in pairs if total <= self.max_ranked]
        if rare:
            return await self._fetch_rows(
                _SELECT_CANDIDATES, _join_words(" | ", rare) + self.owner_query
            )
        # Even the rarest word is too common: rank the latest passages that contain all words.
        latest = _SELECT_LATEST.format(most=self.max_ranked)
        rows = await self._fetch_rows(latest, _join_words(" & ", self.words) + self.owner_query)
        return rows or await self._fetch_rows(
            latest, _join_words("", self.words[:1]) + self.owner_query
        )

    async def _load_scope_keys(self) -> list[int] | None:
        """Return the keys of all passages within the scope, or None if they are too many."""
        if self.scope == SearchScope(owner=self.scope.owner):
            return None
        conditions, values = build_scope_conditions(self.scope)
        sql, too_many = _SELECT_SCOPE_KEYS.format(which=conditions), self.max_ranked + 1
        result = await self.db.execute(sql.encode(), {**values, "enough": too_many}, prepare=False)
        keys = [row["key"] for row in await result.fetchall()]
        return keys if len(keys) < too_many else None

    async def _fetch_rows(
        self, candidates: str, query: str, keys: Sequence[int] = ()
    ) -> list[dict[str, Any]]:
        conditions, values = build_scope_conditions(self.scope)
        for n, word in enumerate(self.words):
            values |= {f"rarity{n}": word.rarity, f"word{n}": word.query}
        values |= {"wanted": query, "few": list(keys), "most": self.limit}
        ranks = " + ".join(_RANK_TERM.format(n=n) for n in range(len(self.words)))
        sql = _SELECT_RANKED.format(ranks=ranks, candidates=candidates, which=conditions)
        # Not prepared, because the best plan depends on how rare the words are.
        return await (await self.db.execute(sql.encode(), values, prepare=False)).fetchall()


def _join_words(operator: str, words: Sequence[WordCount]) -> str:
    return f"({operator.join(f'({word.query})' for word in words)})"
