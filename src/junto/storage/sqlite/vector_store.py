"""Who makes vectors for SQLite, and where they are kept."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.documents import Model, Unplaced, VectorStore
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.vectors import VectorFiles, embedder, shortened

_UNPLACED = """
SELECT p.key, p.heading, substr(t.text, p.begins + 1, p.ends - p.begins) AS text
FROM passages p JOIN texts t ON t.document = p.document
WHERE p.key > :after AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.passage = p.key AND v.embedder = :embedder
) ORDER BY p.key LIMIT :most
"""
_LEFT = """
SELECT (SELECT count(*) FROM passages) - (SELECT count(*) FROM vectors WHERE embedder = ?)
"""
_PLACE = """
INSERT OR IGNORE INTO vectors (embedder, passage, vector)
SELECT ?, key, ? FROM passages WHERE key = ?
"""
_USE = "UPDATE embedders SET used = max(used, :now) WHERE name = :name AND dimension = :dimension"
_DISUSED = "SELECT key FROM embedders WHERE key <> ? AND used < ?"
_HOLD = """
INSERT INTO leases (name, holder, held_until) VALUES ('vectors', :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = :holder, held_until = :until
WHERE holder = :holder OR held_until < :now OR held_until > :now + 600
"""


@dataclass(frozen=True, slots=True)
class SqliteVectors(VectorStore):
    """Keeps vectors in a file, and beside it what makes searching them quick."""

    database: Callable[[], Awaitable[Database]]
    files: Callable[[], VectorFiles]

    @override
    async def unplaced(self, model: Model, after: int, most: int) -> tuple[Unplaced, ...]:
        def read(db: sqlite3.Connection) -> tuple[Unplaced, ...]:
            found = embedder(db, model)
            values = {"after": after, "most": most, "embedder": found["key"] if found else 0}
            return tuple(
                Unplaced(row["key"], f"{row['heading']}\n{row['text']}".strip())
                for row in db.execute(_UNPLACED, values)
            )

        return await (await self.database()).read(read)

    @override
    async def left(self, model: Model) -> int:
        def read(db: sqlite3.Connection) -> int:
            found = embedder(db, model)
            return int(db.execute(_LEFT, (found["key"] if found else 0,)).fetchone()[0])

        return await (await self.database()).read(read)

    @override
    async def place(self, model: Model, vectors: Mapping[int, bytes]) -> None:
        short = {key: shortened(vector) for key, vector in vectors.items()}

        def write(db: sqlite3.Connection) -> None:
            number = _embedder_key(db, model)
            db.executemany(_PLACE, [(number, vector, key) for key, vector in short.items()])

        await (await self.database()).write(write)

    @override
    async def use(self, model: Model, now: float) -> None:
        values = {"name": model.name, "dimension": model.dimension, "now": now}
        await (await self.database()).write(lambda db: db.execute(_USE, values))

    @override
    async def settle(self, model: Model, before: float) -> None:
        database = await self.database()

        def write(db: sqlite3.Connection) -> None:
            others = db.execute(_DISUSED, (_embedder_key(db, model), before)).fetchall()
            keys = [(row["key"],) for row in others]
            db.executemany("DELETE FROM vectors WHERE embedder = ?", keys)
            db.executemany("DELETE FROM embedders WHERE key = ?", keys)

        await database.write(write)
        await database.read(lambda db: self.files().settle(db, model))

    @override
    async def hold(self, holder: str, until: float, now: float) -> bool:
        values = {"holder": holder, "until": until, "now": now}
        return await (await self.database()).write(
            lambda db: db.execute(_HOLD, values).rowcount == 1
        )


def _embedder_key(db: sqlite3.Connection, model: Model) -> int:
    """Return the key of a model, which is noted if it is new."""
    if found := embedder(db, model):
        return int(found["key"])
    add = "INSERT INTO embedders (name, dimension, used) VALUES (?, ?, unixepoch()) RETURNING key"
    return int(db.execute(add, (model.name, model.dimension)).fetchone()["key"])
