"""Passages found in PostgreSQL: by its index of words, and by that of vectors."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.documents import Match, Model, Passage, Scope, SearchIndex
from junto.storage.document_rows import AROUND, SHOWN, read_passage
from junto.storage.postgres.database import Database
from junto.storage.postgres.parts import stretch
from junto.storage.postgres.ranking import ranked
from junto.storage.postgres.vectors import embedder, nearest, prepared

_PASSAGES = f"""
SELECT {SHOWN}, p.key, p.begins, p.ends, p.path, m.role, m.position, s.id AS conversation_id,
    {stretch("d.key", "p.begins", "p.ends")} AS text
FROM passages p JOIN documents d ON d.key = p.document {AROUND}
WHERE p.key = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class PostgresSearch(SearchIndex):
    """Searches a server."""

    database: Callable[[], Awaitable[Database]]
    # Ranking takes some microseconds for each passage that has one of the words, so only so many
    # are ranked: the rare words tell most, the common ones are left out first.
    most_ranked: int = 2000

    @override
    async def by_words(self, scope: Scope, phrases: Sequence[str], most: int) -> tuple[Match, ...]:
        if not phrases:
            return ()
        async with (await self.database()).transaction() as db:
            return await ranked(db, scope, phrases, self.most_ranked, most)

    @override
    async def by_meaning(
        self, scope: Scope, model: Model, vector: bytes, most: int
    ) -> tuple[Match, ...]:
        database = await self.database()
        async with database.transaction() as db:
            number = await embedder(db, model)
            if number is not None:
                return await nearest(db, number, scope, vector, most)
        await prepared(database)
        return ()

    @override
    async def passages(self, keys: Sequence[int]) -> Mapping[int, Passage]:
        async with (await self.database()).transaction() as db:
            rows = await (await db.execute(_PASSAGES.encode(), (list(keys),))).fetchall()
        return {row["key"]: read_passage(row) for row in rows}
