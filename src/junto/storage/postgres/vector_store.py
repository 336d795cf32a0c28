"""The PostgreSQL store of passage vectors, with pgvector.

The extension, the table and the index of a model are created when the first vectors need them.
"""

import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from junto.domain.documents import EmbeddingModel, Match, PendingPassage, SearchScope, VectorStore
from junto.domain.errors import InputOutputError
from junto.storage.document_rows import MESSAGE_JOINS
from junto.storage.postgres.database import PostgresDatabase
from junto.storage.postgres.document_sql import build_scope_conditions, build_text_slice

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_MIN_EXTENSION_VERSION = (0, 8)
# The limit of an HNSW index on halfvec; longer vectors are scanned without an index.
_MAX_INDEX_DIMENSION = 4000
# halfvec is precise enough for search. `toast_tuple_target` keeps vectors in their row, like the
# words of a passage.
_CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (
    passage bigint NOT NULL REFERENCES passages (key) ON DELETE CASCADE,
    embedder integer NOT NULL REFERENCES embedders (key),
    vector halfvec NOT NULL,
    PRIMARY KEY (passage, embedder)
) WITH (toast_tuple_target = 8160)
"""
_INSERT_EMBEDDER = """
INSERT INTO embedders (name, dimension, used) VALUES (%s, %s, extract(epoch FROM now()))
RETURNING key
"""
# Each model has its own index, created before its vectors: creating it later would take minutes, in
# which no vector could be saved or deleted.
_CREATE_INDEX = """
CREATE INDEX vectors_of_{number} ON vectors
USING hnsw ((vector::halfvec({dimension})) halfvec_ip_ops) WHERE embedder = {number}
"""
# The index yields the nearest vectors of all owners. An iterative scan continues until enough of
# them are within the scope, or until an exact scan of the scope would be faster. Sorting is
# disabled, because the planner would scan all vectors for it.
_INDEX_SCAN_SETTINGS = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', '100', true), set_config('hnsw.max_scan_tuples', '5000', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true)
"""
_EXACT_SCAN_SETTINGS = "SELECT set_config('enable_sort', 'on', true)"
_FROM_SCOPE = f"""
FROM vectors v JOIN passages p ON p.key = v.passage
JOIN documents d ON d.key = p.document {MESSAGE_JOINS}
WHERE v.embedder = {{number}} AND {{which}}
"""
_DISTANCE_EXPRESSION = "(v.vector::halfvec({dimension}) <#> %(vector)s::halfvec({dimension}))"
_SELECT_BY_INDEX = f"""
SELECT v.passage AS key, p.document, {_DISTANCE_EXPRESSION} AS distance {_FROM_SCOPE}
ORDER BY {_DISTANCE_EXPRESSION} LIMIT %(most)s
"""
_SELECT_EXACT = f"""
WITH all_of_them AS MATERIALIZED (
    SELECT v.passage AS key, p.document, {_DISTANCE_EXPRESSION} AS distance {_FROM_SCOPE}
)
SELECT * FROM all_of_them ORDER BY distance, key LIMIT %(most)s
"""
_SELECT_PENDING = f"""
SELECT p.key, p.heading, {build_text_slice("p.document", "p.begins", "p.ends")} AS text
FROM passages p
WHERE p.key > %(after)s AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.passage = p.key AND v.embedder = %(embedder)s
) ORDER BY p.key LIMIT %(most)s
"""
_COUNT_PASSAGES = "SELECT count(*) AS number FROM passages"
_COUNT_VECTORS = "SELECT count(*) AS number FROM vectors WHERE embedder = %s"
# A locked passage is being deleted, so it is skipped.
_INSERT_VECTORS = """
WITH there AS MATERIALIZED (
    SELECT key FROM passages WHERE key = ANY(%(keys)s) FOR KEY SHARE SKIP LOCKED
)
INSERT INTO vectors (passage, embedder, vector)
SELECT there.key, %(embedder)s, new.vector::halfvec
FROM there JOIN unnest(%(keys)s::bigint[], %(vectors)s::text[]) AS new (key, vector) USING (key)
ON CONFLICT DO NOTHING
"""
_SELECT_UNUSED_EMBEDDERS = "SELECT key FROM embedders WHERE key <> %s AND used < %s"
_TOUCH_EMBEDDER = (
    "UPDATE embedders SET used = greatest(used, %s) WHERE name = %s AND dimension = %s"
)
_DELETE_VECTORS = """
DELETE FROM vectors WHERE (passage, embedder) IN (
    SELECT passage, embedder FROM vectors WHERE embedder = ANY(%s) FOR UPDATE SKIP LOCKED
)
"""
_ACQUIRE_LEASE = """
INSERT INTO leases (name, holder, held_until) VALUES ('vectors', %(holder)s, %(until)s)
ON CONFLICT (name) DO UPDATE SET holder = %(holder)s, held_until = %(until)s
WHERE leases.holder = %(holder)s OR leases.held_until < %(now)s
    OR leases.held_until > %(now)s + 600
"""


@dataclass(frozen=True, slots=True)
class PostgresVectors(VectorStore):
    """A store of vectors in a PostgreSQL database with pgvector."""

    database: Callable[[], Awaitable[PostgresDatabase]]

    @override
    async def list_pending(
        self, model: EmbeddingModel, after: int, limit: int
    ) -> tuple[PendingPassage, ...]:
        database = await self.database()
        # Ensuring the embedder first reports a missing extension before anything is embedded.
        values = {
            "embedder": await _ensure_embedder(database, model),
            "after": after,
            "most": limit,
        }
        async with database.transaction() as db:
            rows = await (await db.execute(_SELECT_PENDING.encode(), values)).fetchall()
        return tuple(
            PendingPassage(row["key"], f"{row['heading']}\n{row['text']}".strip()) for row in rows
        )

    @override
    async def count_pending(self, model: EmbeddingModel) -> int:
        async with (await self.database()).transaction() as db:
            passages = await (await db.execute(_COUNT_PASSAGES)).fetchone()
            key = await find_embedder(db, model)
            vectors = key and await (await db.execute(_COUNT_VECTORS, (key,))).fetchone()
            return (passages["number"] if passages else 0) - (vectors["number"] if vectors else 0)

    @override
    async def save_vectors(self, model: EmbeddingModel, vectors: Mapping[int, bytes]) -> None:
        database = await self.database()
        values = {
            "embedder": await _ensure_embedder(database, model),
            "keys": list(vectors),
            "vectors": [_encode_vector(vector) for vector in vectors.values()],
        }
        async with database.transaction() as db:
            await db.execute(_INSERT_VECTORS, values)

    @override
    async def touch_model(self, model: EmbeddingModel, now: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_TOUCH_EMBEDDER, (now, model.name, model.dimension))

    @override
    async def optimize(self, model: EmbeddingModel, unused_since: float) -> None:
        database = await self.database()
        key = await _ensure_embedder(database, model)
        async with database.transaction() as db:
            rows = await (
                await db.execute(_SELECT_UNUSED_EMBEDDERS, (key, unused_since))
            ).fetchall()
            unused_keys = [row["key"] for row in rows]
            if unused_keys:
                await db.execute(_DELETE_VECTORS, (unused_keys,))
        if unused_keys:
            await _drop_embedders(database, unused_keys)

    @override
    async def acquire_lease(self, holder: str, until: float, now: float) -> bool:
        values = {"holder": holder, "until": until, "now": now}
        async with (await self.database()).transaction() as db:
            return (await db.execute(_ACQUIRE_LEASE, values)).rowcount == 1


async def find_embedder(db: "Connection", model: EmbeddingModel) -> int | None:
    """Return the key of a model, or None if it is not known yet."""
    sql = "SELECT key FROM embedders WHERE name = %s AND dimension = %s"
    row = await (await db.execute(sql, (model.name, model.dimension))).fetchone()
    return int(row["key"]) if row else None


async def ensure_extension(database: PostgresDatabase) -> None:
    """Create the pgvector extension and the table of vectors if they do not exist.

    Raises:
        InputOutputError: the server has no pgvector.
    """
    async with database.schema_transaction() as db:
        await _create_extension(db)


async def find_nearest(
    db: "Connection", embedder_key: int, scope: SearchScope, vector: bytes, limit: int
) -> tuple[Match, ...]:
    """Return the passages within a scope whose vectors are nearest, nearest first."""
    conditions, values = build_scope_conditions(scope)
    values |= {"vector": _encode_vector(vector), "most": limit}
    sql_parts = {"number": embedder_key, "dimension": len(vector) // 4, "which": conditions}
    await db.execute(_INDEX_SCAN_SETTINGS)
    rows = await _fetch_rows(db, _SELECT_BY_INDEX.format(**sql_parts), values)
    if len(rows) < limit:
        await db.execute(_EXACT_SCAN_SETTINGS)
        rows = await _fetch_rows(db, _SELECT_EXACT.format(**sql_parts), values)
    # `<#>` is the negative inner product, which is the negative cosine for normalized vectors.
    matches = [Match(row["key"], row["document"], -row["distance"]) for row in rows]
    return tuple(sorted(matches, key=lambda match: -match.score))


async def _ensure_embedder(database: PostgresDatabase, model: EmbeddingModel) -> int:
    """Return the key of a model, and create its row and index if it is new.

    Raises:
        InputOutputError: the server has no pgvector.
    """
    async with database.transaction() as db:
        key = await find_embedder(db, model)
    if key is not None:
        return key
    async with database.schema_transaction() as db:
        key = await find_embedder(db, model)  # another server may have inserted it meanwhile
        return await _insert_embedder(db, model) if key is None else key


async def _insert_embedder(db: "Connection", model: EmbeddingModel) -> int:
    await _create_extension(db)
    [row] = await (await db.execute(_INSERT_EMBEDDER, (model.name, model.dimension))).fetchall()
    key = int(row["key"])
    if model.dimension <= _MAX_INDEX_DIMENSION:
        await db.execute(_CREATE_INDEX.format(number=key, dimension=model.dimension).encode())
    return key


async def _create_extension(db: "Connection") -> None:
    from psycopg import errors

    try:
        await db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        sql = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        row = await (await db.execute(sql)).fetchone()
        if row and tuple(map(int, row["extversion"].split(".")[:2])) < _MIN_EXTENSION_VERSION:
            raise _no_vectors_error()
        await db.execute(_CREATE_TABLE)
    except (
        errors.FeatureNotSupported,
        errors.InsufficientPrivilege,
        errors.UndefinedFile,
        errors.UndefinedObject,
    ):
        raise _no_vectors_error() from None


def _no_vectors_error() -> InputOutputError:
    return InputOutputError(
        "The PostgreSQL server has no vectors: they need its extension pgvector, 0.8 or newer. "
        "Ask the operator for CREATE EXTENSION vector, or set knowledge.embeddings: off."
    )


async def _drop_embedders(database: PostgresDatabase, embedder_keys: list[int]) -> None:
    """Delete models with their vectors and indexes, under an exclusive lock on the table."""
    async with database.schema_transaction() as db:
        await db.execute("LOCK vectors IN ACCESS EXCLUSIVE MODE")
        await db.execute("DELETE FROM vectors WHERE embedder = ANY(%s)", (embedder_keys,))
        for key in embedder_keys:
            await db.execute(f"DROP INDEX IF EXISTS vectors_of_{key}".encode())
        await db.execute("DELETE FROM embedders WHERE key = ANY(%s)", (embedder_keys,))


def _encode_vector(vector: bytes) -> str:
    """Return a vector in the text format of pgvector, with the precision of halfvec."""
    components = struct.unpack(f"<{len(vector) // 4}f", vector)
    return f"[{','.join(f'{component:.5g}' for component in components)}]"


async def _fetch_rows(db: "Connection", sql: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    # Not prepared, because the best plan depends on how much is within the scope.
    return await (await db.execute(sql.encode(), values, prepare=False)).fetchall()
