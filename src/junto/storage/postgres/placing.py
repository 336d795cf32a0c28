"""Who makes vectors for PostgreSQL, and where they are kept."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.documents import Model, Unplaced, VectorStore
from junto.storage.postgres.database import Database
from junto.storage.postgres.parts import stretch
from junto.storage.postgres.vectors import embedder, numbered, written

_UNPLACED = f"""
SELECT p.key, p.heading, {stretch("p.document", "p.begins", "p.ends")} AS text FROM passages p
WHERE p.key > %(after)s AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.passage = p.key AND v.embedder = %(embedder)s
) ORDER BY p.key LIMIT %(most)s
"""
_ALL = "SELECT count(*) AS number FROM passages"
_PLACED = "SELECT count(*) AS number FROM vectors WHERE embedder = %s"
# A passage that somebody else has is being deleted.
_PLACE = """
WITH there AS MATERIALIZED (
    SELECT key FROM passages WHERE key = ANY(%(keys)s) FOR KEY SHARE SKIP LOCKED
)
INSERT INTO vectors (passage, embedder, vector)
SELECT there.key, %(embedder)s, new.vector::halfvec
FROM there JOIN unnest(%(keys)s::bigint[], %(vectors)s::text[]) AS new (key, vector) USING (key)
ON CONFLICT DO NOTHING
"""
_DISUSED = "SELECT key FROM embedders WHERE key <> %s AND used < %s"
_USE = "UPDATE embedders SET used = greatest(used, %s) WHERE name = %s AND dimension = %s"
_DROP = """
DELETE FROM vectors WHERE (passage, embedder) IN (
    SELECT passage, embedder FROM vectors WHERE embedder = ANY(%s) FOR UPDATE SKIP LOCKED
)
"""
_HOLD = """
INSERT INTO leases (name, holder, held_until) VALUES ('vectors', %(holder)s, %(until)s)
ON CONFLICT (name) DO UPDATE SET holder = %(holder)s, held_until = %(until)s
WHERE leases.holder = %(holder)s OR leases.held_until < %(now)s
    OR leases.held_until > %(now)s + 600
"""


@dataclass(frozen=True, slots=True)
class PostgresVectors(VectorStore):
    """Keeps vectors on a server that has the extension for them."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def unplaced(self, model: Model, after: int, most: int) -> tuple[Unplaced, ...]:
        database = await self.database()
        # If there can be no vectors, that is better known before they are made.
        wanted = {"embedder": await numbered(database, model), "after": after, "most": most}
        async with database.transaction() as db:
            rows = await (await db.execute(_UNPLACED.encode(), wanted)).fetchall()
        return tuple(
            Unplaced(row["key"], f"{row['heading']}\n{row['text']}".strip()) for row in rows
        )

    @override
    async def left(self, model: Model) -> int:
        async with (await self.database()).transaction() as db:
            passages = await (await db.execute(_ALL)).fetchone()
            number = await embedder(db, model)
            placed = number and await (await db.execute(_PLACED, (number,))).fetchone()
            return (passages["number"] if passages else 0) - (placed["number"] if placed else 0)

    @override
    async def place(self, model: Model, vectors: Mapping[int, bytes]) -> None:
        database = await self.database()
        new = {
            "embedder": await numbered(database, model),
            "keys": list(vectors),
            "vectors": [written(vector) for vector in vectors.values()],
        }
        async with database.transaction() as db:
            await db.execute(_PLACE, new)

    @override
    async def use(self, model: Model, now: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_USE, (now, model.name, model.dimension))

    @override
    async def settle(self, model: Model, before: float) -> None:
        database = await self.database()
        number = await numbered(database, model)
        async with database.transaction() as db:
            rows = await (await db.execute(_DISUSED, (number, before))).fetchall()
            others = [row["key"] for row in rows]
            if others:
                await db.execute(_DROP, (others,))
        if others:
            await _dropped(database, others)

    @override
    async def hold(self, holder: str, until: float, now: float) -> bool:
        values = {"holder": holder, "until": until, "now": now}
        async with (await self.database()).transaction() as db:
            return (await db.execute(_HOLD, values)).rowcount == 1


async def _dropped(database: Database, numbers: list[int]) -> None:
    """Drop what models had that are not used any more; nobody can use the table meanwhile."""
    async with database.changing() as db:
        await db.execute("LOCK vectors IN ACCESS EXCLUSIVE MODE")
        await db.execute("DELETE FROM vectors WHERE embedder = ANY(%s)", (numbers,))
        for number in numbers:
            await db.execute(f"DROP INDEX IF EXISTS vectors_of_{number}".encode())
        await db.execute("DELETE FROM embedders WHERE key = ANY(%s)", (numbers,))
