"""The SQLite store of passage vectors."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.documents import EmbeddingModel, PendingPassage, VectorStore
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.vector_files import VectorFiles, find_embedder, to_half_precision

_SELECT_PENDING = """
SELECT p.key, p.heading, substr(t.text, p.begins + 1, p.ends - p.begins) AS text
FROM passages p JOIN texts t ON t.document = p.document
WHERE p.key > :after AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.passage = p.key AND v.embedder = :embedder
) ORDER BY p.key LIMIT :most
"""
_COUNT_PENDING = """
SELECT (SELECT count(*) FROM passages) - (SELECT count(*) FROM vectors WHERE embedder = ?)
"""
_INSERT_VECTOR = """
INSERT OR IGNORE INTO vectors (embedder, passage, vector)
SELECT ?, key, ? FROM passages WHERE key = ?
"""
_TOUCH_EMBEDDER = (
    "UPDATE embedders SET used = max(used, :now) WHERE name = :name AND dimension = :dimension"
)
_SELECT_UNUSED_EMBEDDERS = "SELECT key FROM embedders WHERE key <> ? AND used < ?"
_ACQUIRE_LEASE = """
INSERT INTO leases (name, holder, held_until) VALUES ('vectors', :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = :holder, held_until = :until
WHERE holder = :holder OR held_until < :now OR held_until > :now + 600
"""


@dataclass(frozen=True, slots=True)
class SqliteVectors(VectorStore):
    """A store of vectors in a SQLite file, with vector files beside it for fast search."""

    database: Callable[[], Awaitable[SqliteDatabase]]
    files: Callable[[], VectorFiles]

    @override
    async def list_pending(
        self, model: EmbeddingModel, after: int, limit: int
    ) -> tuple[PendingPassage, ...]:
        def read(db: sqlite3.Connection) -> tuple[PendingPassage, ...]:
            embedder = find_embedder(db, model)
            embedder_key = embedder["key"] if embedder else 0
            values = {"after": after, "most": limit, "embedder": embedder_key}
            return tuple(
                PendingPassage(row["key"], f"{row['heading']}\n{row['text']}".strip())
                for row in db.execute(_SELECT_PENDING, values)
            )

        return await (await self.database()).read(read)

    @override
    async def count_pending(self, model: EmbeddingModel) -> int:
        def read(db: sqlite3.Connection) -> int:
            embedder = find_embedder(db, model)
            embedder_key = embedder["key"] if embedder else 0
            return int(db.execute(_COUNT_PENDING, (embedder_key,)).fetchone()[0])

        return await (await self.database()).read(read)

    @override
    async def save_vectors(self, model: EmbeddingModel, vectors: Mapping[int, bytes]) -> None:
        encoded = {key: to_half_precision(vector) for key, vector in vectors.items()}

        def write(db: sqlite3.Connection) -> None:
            embedder_key = _ensure_embedder(db, model)
            rows = [(embedder_key, vector, key) for key, vector in encoded.items()]
            db.executemany(_INSERT_VECTOR, rows)

        await (await self.database()).write(write)

    @override
    async def touch_model(self, model: EmbeddingModel, now: float) -> None:
        values = {"name": model.name, "dimension": model.dimension, "now": now}
        await (await self.database()).write(lambda db: db.execute(_TOUCH_EMBEDDER, values))

    @override
    async def optimize(self, model: EmbeddingModel, unused_since: float) -> None:
        database = await self.database()

        def write(db: sqlite3.Connection) -> None:
            unused = db.execute(
                _SELECT_UNUSED_EMBEDDERS, (_ensure_embedder(db, model), unused_since)
            ).fetchall()
            keys = [(row["key"],) for row in unused]
            db.executemany("DELETE FROM vectors WHERE embedder = ?", keys)
            db.executemany("DELETE FROM embedders WHERE key = ?", keys)

        await database.write(write)
        await database.read(lambda db: self.files().optimize(db, model))

    @override
    async def acquire_lease(self, holder: str, until: float, now: float) -> bool:
        values = {"holder": holder, "until": until, "now": now}
        return await (await self.database()).write(
            lambda db: db.execute(_ACQUIRE_LEASE, values).rowcount == 1
        )


def _ensure_embedder(db: sqlite3.Connection, model: EmbeddingModel) -> int:
    """Return the key of a model, and insert the model if it is new."""
    if embedder := find_embedder(db, model):
        return int(embedder["key"])
    sql = "INSERT INTO embedders (name, dimension, used) VALUES (?, ?, unixepoch()) RETURNING key"
    return int(db.execute(sql, (model.name, model.dimension)).fetchone()["key"])
