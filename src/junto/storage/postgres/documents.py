"""The PostgreSQL store of documents."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from junto.domain.documents import (
    PUBLIC_OWNER,
    Document,
    DocumentEntry,
    DocumentStore,
    IndexedState,
    IndexStats,
    SearchScope,
    UnindexedMessage,
)
from junto.storage.document_rows import (
    DOCUMENT_SELECT,
    MESSAGE_JOINS,
    decode_document,
    decode_index_stats,
    decode_indexed_state,
    decode_unindexed_message,
)
from junto.storage.postgres.database import PostgresDatabase
from junto.storage.postgres.document_sql import build_scope_conditions, build_text_slice
from junto.storage.postgres.document_writes import save_documents
from junto.storage.values import clean_text

_SELECT_UNINDEXED_MESSAGES = """
SELECT m.key, c.owner, c.id AS conversation_id, m.position, m.role, m.at, m.parts
FROM messages m JOIN conversations c ON c.key = m.conversation
WHERE NOT m.searchable ORDER BY m.key DESC LIMIT %s
"""
_SELECT_INDEXED_STATES = """
SELECT url, id, digest, size, modified, indexed FROM documents
WHERE owner = %(owner)s AND left(folder, 400) = left(%(folder)s, 400) AND folder = %(folder)s
    AND folder <> ''
"""
_SELECT_FOLDERS = """
SELECT DISTINCT folder FROM documents
WHERE owner = %(owner)s AND folder > %(after)s AND folder <> ''
    AND (folder = %(beneath)s OR starts_with(folder, %(beneath)s || '/'))
ORDER BY folder LIMIT %(most)s
"""
_UPDATE_INDEXED_STATE = """
UPDATE documents SET size = %s, modified = %s, indexed = %s WHERE owner = %s AND id = %s
"""
_DELETE_DOCUMENTS = """
DELETE FROM documents WHERE key IN (
    SELECT key FROM documents WHERE owner = %s AND id = ANY(%s) ORDER BY id FOR UPDATE
)
"""
_VISIBLE_DOCUMENTS = (
    f"{MESSAGE_JOINS} WHERE d.owner = ANY(%(owners)s) "
    "AND (d.message IS NULL OR s.status = 'active')"
)
_SELECT_DOCUMENT = f"""
SELECT {DOCUMENT_SELECT} FROM documents d {_VISIBLE_DOCUMENTS} AND (
    d.id = %(name)s OR left(d.url, 400) = left(%(name)s, 400) AND d.url = %(name)s
) ORDER BY d.id = %(name)s DESC, d.owner DESC LIMIT 1
"""
_SELECT_TEXT = f"""
SELECT {build_text_slice("d.key", "%(start)s::integer", "%(end)s::integer")} AS text
FROM documents d {_VISIBLE_DOCUMENTS} AND d.id = %(id)s
ORDER BY d.owner DESC LIMIT 1
"""
_SELECT_INDEX_STATS = """
SELECT source, count(*) AS documents, sum(length)::bigint AS characters,
    sum((SELECT count(*) FROM passages p WHERE p.document = d.key))::bigint AS passages
FROM documents d WHERE owner = ANY(%s) GROUP BY source ORDER BY source
"""
_MAX_OFFSET = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PostgresDocuments(DocumentStore):
    """A store of documents in PostgreSQL."""

    database: Callable[[], Awaitable[PostgresDatabase]]

    @override
    async def save(self, entries: Sequence[DocumentEntry]) -> None:
        async with (await self.database()).transaction() as db:
            await save_documents(db, entries)

    @override
    async def list_unindexed_messages(self, limit: int) -> tuple[UnindexedMessage, ...]:
        return tuple(
            decode_unindexed_message(row)
            for row in await self._fetch_rows(_SELECT_UNINDEXED_MESSAGES, (limit,))
        )

    @override
    async def load_indexed_states(self, owner: str, folder: str) -> Mapping[str, IndexedState]:
        rows = await self._fetch_rows(_SELECT_INDEXED_STATES, {"owner": owner, "folder": folder})
        return {row["url"]: decode_indexed_state(row) for row in rows}

    @override
    async def list_folders(self, owner: str, root: str, after: str, limit: int) -> tuple[str, ...]:
        values = {"owner": owner, "beneath": root, "after": after, "most": limit}
        return tuple(row["folder"] for row in await self._fetch_rows(_SELECT_FOLDERS, values))

    @override
    async def update_indexed_states(self, owner: str, states: Sequence[IndexedState]) -> None:
        # Sorted by id, as in `_DELETE_DOCUMENTS` and `save_documents`: all transactions lock rows
        # in the same order and cannot deadlock.
        rows = [
            (each.size, each.modified, each.indexed, owner, each.id)
            for each in sorted(states, key=lambda each: each.id)
        ]
        async with (await self.database()).transaction() as db, db.cursor() as cursor:
            await cursor.executemany(_UPDATE_INDEXED_STATE, rows)

    @override
    async def delete(self, owner: str, ids: Sequence[str]) -> int:
        async with (await self.database()).transaction() as db:
            return (await db.execute(_DELETE_DOCUMENTS, (owner, list(ids)))).rowcount

    @override
    async def find(self, owner: str, id_or_url: str) -> Document | None:
        values = {"owners": [owner, PUBLIC_OWNER], "name": clean_text(id_or_url)}
        rows = await self._fetch_rows(_SELECT_DOCUMENT, values)
        return decode_document(rows[0]) if rows else None

    @override
    async def read_text(self, owner: str, id_: str, start: int, end: int) -> str:
        first = min(start, _MAX_OFFSET)
        offsets = {"start": first, "end": min(max(first, end), _MAX_OFFSET)}
        values = {"owners": [owner, PUBLIC_OWNER], "id": clean_text(id_), **offsets}
        rows = await self._fetch_rows(_SELECT_TEXT, values)
        return str(rows[0]["text"]) if rows else ""

    @override
    async def list_documents(
        self, scope: SearchScope, after: str, limit: int
    ) -> tuple[Document, ...]:
        conditions, values = build_scope_conditions(scope)
        rows = await self._fetch_rows(
            f"SELECT {DOCUMENT_SELECT} FROM documents d {MESSAGE_JOINS} WHERE {conditions} "
            "AND d.url > %(after)s ORDER BY d.url LIMIT %(most)s",
            {**values, "after": clean_text(after), "most": limit},
        )
        return tuple(decode_document(row) for row in rows)

    @override
    async def load_index_stats(self, owner: str) -> tuple[IndexStats, ...]:
        return tuple(
            decode_index_stats(row)
            for row in await self._fetch_rows(_SELECT_INDEX_STATS, ([owner, PUBLIC_OWNER],))
        )

    async def _fetch_rows(
        self, sql: str, values: tuple[object, ...] | Mapping[str, object]
    ) -> list[dict[str, Any]]:
        async with (await self.database()).transaction() as db:
            return await (await db.execute(sql.encode(), values)).fetchall()
