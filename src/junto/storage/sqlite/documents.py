"""The SQLite store of documents, and the SQL conditions of a search scope."""

import json
import sqlite3
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
    DOCUMENT_COLUMNS,
    DOCUMENT_SELECT,
    MESSAGE_JOINS,
    decode_document,
    decode_index_stats,
    decode_indexed_state,
    decode_unindexed_message,
    encode_document,
    encode_passage,
)
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.values import clean_text

_UPSERT_DOCUMENT = (
    f"INSERT INTO documents ({', '.join(DOCUMENT_COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in DOCUMENT_COLUMNS)}) "
    f"ON CONFLICT (owner, id) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in DOCUMENT_COLUMNS)} RETURNING key"
)
_UPSERT_TEXT = (
    "INSERT INTO texts (document, text) VALUES (?, ?) "
    "ON CONFLICT (document) DO UPDATE SET text = excluded.text"
)
_INSERT_PASSAGE = """
INSERT INTO passages (document, begins, ends, path, heading, words)
VALUES (:document, :begins, :ends, :path, :heading, :words)
"""
_UPDATE_PASSAGE = (
    "UPDATE passages SET begins = :begins, ends = :ends, path = :path WHERE key = :key"
)
_SELECT_UNINDEXED_MESSAGES = """
SELECT m.key, c.owner, c.id AS conversation_id, m.position, m.role, m.at, m.parts
FROM messages m JOIN conversations c ON c.key = m.conversation
WHERE m.searchable = 0 ORDER BY m.key DESC LIMIT ?
"""
_SELECT_INDEX_STATS = """
SELECT source, count(*) AS documents, sum(length) AS characters,
    sum((SELECT count(*) FROM passages p WHERE p.document = d.key)) AS passages
FROM documents d WHERE owner IN (?, ?) GROUP BY source ORDER BY source
"""


@dataclass(frozen=True, slots=True)
class SqliteDocuments(DocumentStore):
    """A store of documents in a SQLite file."""

    database: Callable[[], Awaitable[SqliteDatabase]]

    @override
    async def save(self, entries: Sequence[DocumentEntry]) -> None:
        def save(db: sqlite3.Connection) -> None:
            for entry in entries:
                _save_entry(db, entry)

        await (await self.database()).write(save)

    @override
    async def list_unindexed_messages(self, limit: int) -> tuple[UnindexedMessage, ...]:
        return tuple(
            decode_unindexed_message(row)
            for row in await self._fetch_rows(_SELECT_UNINDEXED_MESSAGES, (limit,))
        )

    @override
    async def load_indexed_states(self, owner: str, folder: str) -> Mapping[str, IndexedState]:
        rows = await self._fetch_rows(
            "SELECT * FROM documents WHERE owner = ? AND folder = ? AND folder <> ''",
            (owner, clean_text(folder)),
        )
        return {row["url"]: decode_indexed_state(row) for row in rows}

    @override
    async def list_folders(self, owner: str, root: str, after: str, limit: int) -> tuple[str, ...]:
        rows = await self._fetch_rows(
            "SELECT DISTINCT folder FROM documents WHERE owner = ? AND folder > ? AND folder <> '' "
            "AND (folder = ? OR substr(folder, 1, ?) = ?) ORDER BY folder LIMIT ?",
            (
                owner,
                clean_text(after),
                clean_text(root),
                len(root) + 1,
                f"{clean_text(root)}/",
                limit,
            ),
        )
        return tuple(row["folder"] for row in rows)

    @override
    async def update_indexed_states(self, owner: str, states: Sequence[IndexedState]) -> None:
        rows = [(each.size, each.modified, each.indexed, owner, each.id) for each in states]
        update = "UPDATE documents SET size = ?, modified = ?, indexed = ? "
        await (await self.database()).write(
            lambda db: db.executemany(f"{update} WHERE owner = ? AND id = ?", rows)
        )

    @override
    async def delete(self, owner: str, ids: Sequence[str]) -> int:
        sql = "DELETE FROM documents WHERE owner = ? AND id IN (SELECT value FROM json_each(?))"
        values = (owner, json.dumps(list(ids)))
        return await (await self.database()).write(lambda db: db.execute(sql, values).rowcount)

    @override
    async def find(self, owner: str, id_or_url: str) -> Document | None:
        select = (
            f"SELECT {DOCUMENT_SELECT} FROM documents d {MESSAGE_JOINS} WHERE d.owner IN (?, ?)"
        )
        visible = "AND (d.message IS NULL OR s.status = 'active') ORDER BY d.owner DESC LIMIT 1"
        for column in ("id", "url"):
            sql = f"{select} AND d.{column} = ? {visible}"
            if rows := await self._fetch_rows(sql, (owner, PUBLIC_OWNER, clean_text(id_or_url))):
                return decode_document(rows[0])
        return None

    @override
    async def read_text(self, owner: str, id_: str, start: int, end: int) -> str:
        rows = await self._fetch_rows(
            f"SELECT substr(t.text, ?, ?) AS text FROM documents d JOIN texts t "
            f"ON t.document = d.key {MESSAGE_JOINS} WHERE d.owner IN (?, ?) AND d.id = ? "
            "AND (d.message IS NULL OR s.status = 'active') ORDER BY d.owner DESC",
            (start + 1, end - start, owner, PUBLIC_OWNER, clean_text(id_)),
        )
        return str(rows[0]["text"]) if rows else ""

    @override
    async def list_documents(
        self, scope: SearchScope, after: str, limit: int
    ) -> tuple[Document, ...]:
        conditions, values = build_scope_conditions(scope)
        rows = await self._fetch_rows(
            f"SELECT {DOCUMENT_SELECT} FROM documents d {MESSAGE_JOINS} WHERE {conditions} "
            "AND d.url > :after ORDER BY d.url LIMIT :most",
            {**values, "after": clean_text(after), "most": limit},
        )
        return tuple(decode_document(row) for row in rows)

    @override
    async def load_index_stats(self, owner: str) -> tuple[IndexStats, ...]:
        return tuple(
            decode_index_stats(row)
            for row in await self._fetch_rows(_SELECT_INDEX_STATS, (owner, PUBLIC_OWNER))
        )

    async def _fetch_rows(
        self, sql: str, values: tuple[object, ...] | Mapping[str, object]
    ) -> list[sqlite3.Row]:
        return await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())


def _save_entry(db: sqlite3.Connection, entry: DocumentEntry) -> None:
    if entry.document.message is not None:
        message = (entry.document.message,)
        if not db.execute("UPDATE messages SET searchable = 1 WHERE key = ?", message).rowcount:
            return  # the message was deleted meanwhile
    document = db.execute(_UPSERT_DOCUMENT, encode_document(entry.document)).fetchone()["key"]
    db.execute(_UPSERT_TEXT, (document, clean_text(entry.text)))
    # Passages with the same heading and words keep their key, and with it their vector.
    old_keys: dict[tuple[str, str], list[int]] = {}
    select = "SELECT key, heading, words FROM passages WHERE document = ? ORDER BY key DESC"
    for row in db.execute(select, (document,)):
        old_keys.setdefault((row["heading"], row["words"]), []).append(row["key"])
    for span in entry.spans:
        row = encode_passage(entry, span) | {"document": document}
        unchanged = old_keys.get((row["heading"], row["words"]))
        if unchanged:
            db.execute(_UPDATE_PASSAGE, row | {"key": unchanged.pop()})
        else:
            db.execute(_INSERT_PASSAGE, row)
    removed = [(key,) for keys in old_keys.values() for key in keys]
    db.executemany("DELETE FROM passages WHERE key = ?", removed)


def build_scope_conditions(scope: SearchScope) -> tuple[str, dict[str, Any]]:
    """Return SQL conditions on a document `d`, joined with MESSAGE_JOINS, and their values."""
    parts = ["d.owner IN (:owner, :everyone)", "(d.message IS NULL OR s.status = 'active')"]
    values: dict[str, Any] = {"owner": scope.owner, "everyone": PUBLIC_OWNER}
    for column, allowed in (("source", scope.sources), ("kind", scope.kinds)):
        names = {f"{column}{number}": clean_text(str(each)) for number, each in enumerate(allowed)}
        if names:
            parts.append(f"d.{column} IN ({', '.join(f':{name}' for name in names)})")
            values |= names
    if scope.path:
        parts.append("instr(lower(d.url), :path) > 0")
        values["path"] = clean_text(scope.path.lower())
    if scope.after is not None:
        parts.append("d.modified >= :since")
        values["since"] = scope.after
    if scope.before is not None:
        parts.append("d.modified < :until")
        values["until"] = scope.before
    return " AND ".join(parts), values
