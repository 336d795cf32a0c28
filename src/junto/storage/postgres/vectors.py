"""Vectors in PostgreSQL, by an extension that is asked for when the first of them comes."""

import struct
from typing import TYPE_CHECKING, Any

from junto.domain.documents import Match, Model, Scope
from junto.domain.errors import InputOutputError
from junto.storage.document_rows import AROUND
from junto.storage.postgres.database import Database
from junto.storage.postgres.scopes import clauses

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_OLDEST = (0, 8)
# What an index of the extension takes; longer vectors are searched one by one.
_LONGEST = 4000
# Two bytes for each number tell enough. They stay in their row, as the words of a passage do.
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (
    passage bigint NOT NULL REFERENCES passages (key) ON DELETE CASCADE,
    embedder integer NOT NULL REFERENCES embedders (key),
    vector halfvec NOT NULL,
    PRIMARY KEY (passage, embedder)
) WITH (toast_tuple_target = 8160)
"""
_ADD = """
INSERT INTO embedders (name, dimension, used) VALUES (%s, %s, extract(epoch FROM now()))
RETURNING key
"""
# Each model has an index of its own. It is there before its vectors are, and grows with them:
# making it later would take minutes, in which nothing could be kept or deleted.
_INDEX = """
CREATE INDEX vectors_of_{number} ON vectors
USING hnsw ((vector::halfvec({dimension})) halfvec_ip_ops) WHERE embedder = {number}
"""
# The index yields what is near, whoever owns it. It goes on until enough of that is within the
# scope, or until it has seen so much that it is quicker to look at all that is. The server must not
# sort, or it would look at everything.
_BY_INDEX = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', '100', true), set_config('hnsw.max_scan_tuples', '5000', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true)
"""
_ONE_BY_ONE = "SELECT set_config('enable_sort', 'on', true)"
_SCOPED = f"""
FROM vectors v JOIN passages p ON p.key = v.passage JOIN documents d ON d.key = p.document {AROUND}
WHERE v.embedder = {{number}} AND {{which}}
"""
_DISTANCE = "(v.vector::halfvec({dimension}) <#> %(vector)s::halfvec({dimension}))"
_NEAR = f"""
SELECT v.passage AS key, p.document, {_DISTANCE} AS distance {_SCOPED}
ORDER BY {_DISTANCE} LIMIT %(most)s
"""
_EXACT = f"""
WITH all_of_them AS MATERIALIZED (
    SELECT v.passage AS key, p.document, {_DISTANCE} AS distance {_SCOPED}
)
SELECT * FROM all_of_them ORDER BY distance, key LIMIT %(most)s
"""


async def embedder(db: "Connection", model: Model) -> int | None:
    """Return the number of a model, if there is a place for its vectors."""
    wanted = "SELECT key FROM embedders WHERE name = %s AND dimension = %s"
    row = await (await db.execute(wanted, (model.name, model.dimension))).fetchone()
    return int(row["key"]) if row else None


async def numbered(database: Database, model: Model) -> int:
    """Return the number of a model, for which a place is made if it is new.

    Raises:
        InputOutputError: the server has no vectors.
    """
    async with database.transaction() as db:
        number = await embedder(db, model)
    if number is not None:
        return number
    async with database.changing() as db:
        number = await embedder(db, model)  # somebody may have been quicker
        return await _added(db, model) if number is None else number


async def prepared(database: Database) -> None:
    """See that the server has vectors.

    Raises:
        InputOutputError: it has none.
    """
    async with database.changing() as db:
        await _prepared(db)


async def nearest(
    db: "Connection", number: int, scope: Scope, vector: bytes, most: int
) -> tuple[Match, ...]:
    """Return passages within a scope, the nearest first, by the model of this number."""
    which, values = clauses(scope)
    values |= {"vector": written(vector), "most": most}
    pieces = {"number": number, "dimension": len(vector) // 4, "which": which}
    await db.execute(_BY_INDEX)
    rows = await _rows(db, _NEAR.format(**pieces), values)
    if len(rows) < most:
        await db.execute(_ONE_BY_ONE)
        rows = await _rows(db, _EXACT.format(**pieces), values)
    # Vectors have the length one, so their product is the cosine; the server turns its sign.
    found = [Match(row["key"], row["document"], -row["distance"]) for row in rows]
    return tuple(sorted(found, key=lambda match: -match.score))


def written(vector: bytes) -> str:
    """Return a vector as the extension reads it, to as many digits as it keeps."""
    numbers = struct.unpack(f"<{len(vector) // 4}f", vector)
    return f"[{','.join(f'{number:.5g}' for number in numbers)}]"


async def _rows(db: "Connection", sql: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    # Never prepared: the best plan depends on how much is within the scope.
    return await (await db.execute(sql.encode(), values, prepare=False)).fetchall()


async def _added(db: "Connection", model: Model) -> int:
    await _prepared(db)
    [row] = await (await db.execute(_ADD, (model.name, model.dimension))).fetchall()
    number = int(row["key"])
    if model.dimension <= _LONGEST:
        await db.execute(_INDEX.format(number=number, dimension=model.dimension).encode())
    return number


async def _prepared(db: "Connection") -> None:
    from psycopg import errors

    try:
        await db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        version = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        row = await (await db.execute(version)).fetchone()
        if row and tuple(map(int, row["extversion"].split(".")[:2])) < _OLDEST:
            raise _none()
        await db.execute(_TABLE)
    except (
        errors.FeatureNotSupported,
        errors.InsufficientPrivilege,
        errors.UndefinedFile,
        errors.UndefinedObject,
    ):
        raise _none() from None


def _none() -> InputOutputError:
    return InputOutputError(
        "The PostgreSQL server has no vectors: they need its extension pgvector, 0.8 or newer. "
        "Ask the operator for CREATE EXTENSION vector, or set knowledge.embeddings: off."
    )
