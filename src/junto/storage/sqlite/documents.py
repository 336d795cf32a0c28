"""Documents in SQLite."""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.documents import (
    EVERYONE,
    Document,
    DocumentStore,
    Entry,
    Known,
    Scope,
    Spoken,
    Stock,
)
from junto.storage.document_rows import (
    AROUND,
    COLUMNS,
    SHOWN,
    document_row,
    piece_row,
    read_document,
    read_known,
    read_spoken,
    read_stock,
)
from junto.storage.rows import clean
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.scopes import clauses

_ADD = (
    f"INSERT INTO documents ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in COLUMNS)}) "
    f"ON CONFLICT (owner, id) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in COLUMNS)} RETURNING key"
)
_TEXT = (
    "INSERT INTO texts (document, text) VALUES (?, ?) "
    "ON CONFLICT (document) DO UPDATE SET text = excluded.text"
)
_PIECE = """
INSERT INTO passages (document, begins, ends, path, heading, words)
VALUES (:document, :begins, :ends, :path, :heading, :words)
"""
_MOVE = "UPDATE passages SET begins = :begins, ends = :ends, path = :path WHERE key = :key"
_UNREAD = """
SELECT m.key, c.owner, c.id AS conversation_id, m.position, m.role, m.at, m.parts
FROM messages m JOIN conversations c ON c.key = m.conversation
WHERE m.searchable = 0 ORDER BY m.key DESC LIMIT ?
"""
_STOCK = """
SELECT source, count(*) AS documents, sum(length) AS characters,
    sum((SELECT count(*) FROM passages p WHERE p.document = d.key)) AS passages
FROM documents d WHERE owner IN (?, ?) GROUP BY source ORDER BY source
"""


@dataclass(frozen=True, slots=True)
class SqliteDocuments(DocumentStore):
    """Keeps documents in a file."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def keep(self, entries: Sequence[Entry]) -> None:
        def kept(db: sqlite3.Connection) -> None:
            for entry in entries:
                _kept(db, entry)

        await (await self.database()).write(kept)

    @override
    async def unread(self, most: int) -> tuple[Spoken, ...]:
        return tuple(read_spoken(row) for row in await self._rows(_UNREAD, (most,)))

    @override
    async def known(self, owner: str, folder: str) -> Mapping[str, Known]:
        rows = await self._rows(
            "SELECT * FROM documents WHERE owner = ? AND folder = ? AND folder <> ''",
            (owner, clean(folder)),
        )
        return {row["url"]: read_known(row) for row in rows}

    @override
    async def folders(self, owner: str, beneath: str, after: str, most: int) -> tuple[str, ...]:
        rows = await self._rows(
            "SELECT DISTINCT folder FROM documents WHERE owner = ? AND folder > ? AND folder <> '' "
            "AND (folder = ? OR substr(folder, 1, ?) = ?) ORDER BY folder LIMIT ?",
            (owner, clean(after), clean(beneath), len(beneath) + 1, f"{clean(beneath)}/", most),
        )
        return tuple(row["folder"] for row in rows)

    @override
    async def confirm(self, owner: str, known: Sequence[Known]) -> None:
        rows = [(each.size, each.modified, each.indexed, owner, each.id) for each in known]
        change = "UPDATE documents SET size = ?, modified = ?, indexed = ? "
        await (await self.database()).write(
            lambda db: db.executemany(f"{change} WHERE owner = ? AND id = ?", rows)
        )

    @override
    async def forget(self, owner: str, ids: Sequence[str]) -> int:
        drop = "DELETE FROM documents WHERE owner = ? AND id IN (SELECT value FROM json_each(?))"
        values = (owner, json.dumps(list(ids)))
        return await (await self.database()).write(lambda db: db.execute(drop, values).rowcount)

    @override
    async def find(self, owner: str, id_or_url: str) -> Document | None:
        select = f"SELECT {SHOWN} FROM documents d {AROUND} WHERE d.owner IN (?, ?)"
        shown = "AND (d.message IS NULL OR s.status = 'active') ORDER BY d.owner DESC LIMIT 1"
        for column in ("id", "url"):
            sql = f"{select} AND d.{column} = ? {shown}"
            if rows := await self._rows(sql, (owner, EVERYONE, clean(id_or_url))):
                return read_document(rows[0])
        return None

    @override
    async def text(self, owner: str, id_: str, start: int, end: int) -> str:
        rows = await self._rows(
            f"SELECT substr(t.text, ?, ?) AS text FROM documents d JOIN texts t "
            f"ON t.document = d.key {AROUND} WHERE d.owner IN (?, ?) AND d.id = ? "
            "AND (d.message IS NULL OR s.status = 'active') ORDER BY d.owner DESC",
            (start + 1, end - start, owner, EVERYONE, clean(id_)),
        )
        return str(rows[0]["text"]) if rows else ""

    @override
    async def listed(self, scope: Scope, after: str, most: int) -> tuple[Document, ...]:
        which, values = clauses(scope)
        rows = await self._rows(
            f"SELECT {SHOWN} FROM documents d {AROUND} WHERE {which} "
            "AND d.url > :after ORDER BY d.url LIMIT :most",
            {**values, "after": clean(after), "most": most},
        )
        return tuple(read_document(row) for row in rows)

    @override
    async def stock(self, owner: str) -> tuple[Stock, ...]:
        return tuple(read_stock(row) for row in await self._rows(_STOCK, (owner, EVERYONE)))

    async def _rows(
        self, sql: str, values: tuple[object, ...] | Mapping[str, object]
    ) -> list[sqlite3.Row]:
        return await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())


def _kept(db: sqlite3.Connection, entry: Entry) -> None:
    if entry.document.message is not None:
        said = (entry.document.message,)
        if not db.execute("UPDATE messages SET searchable = 1 WHERE key = ?", said).rowcount:
            return  # it was deleted meanwhile
    document = db.execute(_ADD, document_row(entry.document)).fetchone()["key"]
    db.execute(_TEXT, (document, clean(entry.text)))
    old: dict[tuple[str, str], list[int]] = {}
    have = "SELECT key, heading, words FROM passages WHERE document = ? ORDER BY key DESC"
    for row in db.execute(have, (document,)):
        old.setdefault((row["heading"], row["words"]), []).append(row["key"])
    for piece in entry.pieces:
        row = piece_row(entry, piece) | {"document": document}
        same = old.get((row["heading"], row["words"]))
        if same:
            db.execute(_MOVE, row | {"key": same.pop()})
        else:
            db.execute(_PIECE, row)
    gone = [(key,) for keys in old.values() for key in keys]
    db.executemany("DELETE FROM passages WHERE key = ?", gone)
