"""Documents in PostgreSQL."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    SHOWN,
    read_document,
    read_known,
    read_spoken,
    read_stock,
)
from junto.storage.postgres.database import Database
from junto.storage.postgres.keeping import kept
from junto.storage.postgres.parts import stretch
from junto.storage.postgres.scopes import clauses
from junto.storage.rows import clean

_UNREAD = """
SELECT m.key, c.owner, c.id AS conversation_id, m.position, m.role, m.at, m.parts
FROM messages m JOIN conversations c ON c.key = m.conversation
WHERE NOT m.searchable ORDER BY m.key DESC LIMIT %s
"""
_KNOWN = """
SELECT url, id, digest, size, modified, indexed FROM documents
WHERE owner = %(owner)s AND left(folder, 400) = left(%(folder)s, 400) AND folder = %(folder)s
    AND folder <> ''
"""
_FOLDERS = """
SELECT DISTINCT folder FROM documents
WHERE owner = %(owner)s AND folder > %(after)s AND folder <> ''
    AND (folder = %(beneath)s OR starts_with(folder, %(beneath)s || '/'))
ORDER BY folder LIMIT %(most)s
"""
_CONFIRM = """
UPDATE documents SET size = %s, modified = %s, indexed = %s WHERE owner = %s AND id = %s
"""
_FORGET = """
DELETE FROM documents WHERE key IN (
    SELECT key FROM documents WHERE owner = %s AND id = ANY(%s) ORDER BY id FOR UPDATE
)
"""
_SEEN = f"{AROUND} WHERE d.owner = ANY(%(owners)s) AND (d.message IS NULL OR s.status = 'active')"
_FIND = f"""
SELECT {SHOWN} FROM documents d {_SEEN} AND (
    d.id = %(name)s OR left(d.url, 400) = left(%(name)s, 400) AND d.url = %(name)s
) ORDER BY d.id = %(name)s DESC, d.owner DESC LIMIT 1
"""
_TEXT = f"""
SELECT {stretch("d.key", "%(start)s::integer", "%(end)s::integer")} AS text
FROM documents d {_SEEN} AND d.id = %(id)s
ORDER BY d.owner DESC LIMIT 1
"""
_STOCK = """
SELECT source, count(*) AS documents, sum(length)::bigint AS characters,
    sum((SELECT count(*) FROM passages p WHERE p.document = d.key))::bigint AS passages
FROM documents d WHERE owner = ANY(%s) GROUP BY source ORDER BY source
"""
_FAR = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PostgresDocuments(DocumentStore):
    """Keeps documents on a server."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def keep(self, entries: Sequence[Entry]) -> None:
        async with (await self.database()).transaction() as db:
            await kept(db, entries)

    @override
    async def unread(self, most: int) -> tuple[Spoken, ...]:
        return tuple(read_spoken(row) for row in await self._rows(_UNREAD, (most,)))

    @override
    async def known(self, owner: str, folder: str) -> Mapping[str, Known]:
        rows = await self._rows(_KNOWN, {"owner": owner, "folder": folder})
        return {row["url"]: read_known(row) for row in rows}

    @override
    async def folders(self, owner: str, beneath: str, after: str, most: int) -> tuple[str, ...]:
        wanted = {"owner": owner, "beneath": beneath, "after": after, "most": most}
        return tuple(row["folder"] for row in await self._rows(_FOLDERS, wanted))

    @override
    async def confirm(self, owner: str, known: Sequence[Known]) -> None:
        # Here and below in the order in which they are kept, so that nobody waits in a circle.
        rows = [
            (each.size, each.modified, each.indexed, owner, each.id)
            for each in sorted(known, key=lambda each: each.id)
        ]
        async with (await self.database()).transaction() as db, db.cursor() as cursor:
            await cursor.executemany(_CONFIRM, rows)

    @override
    async def forget(self, owner: str, ids: Sequence[str]) -> int:
        async with (await self.database()).transaction() as db:
            return (await db.execute(_FORGET, (owner, list(ids)))).rowcount

    @override
    async def find(self, owner: str, id_or_url: str) -> Document | None:
        wanted = {"owners": [owner, EVERYONE], "name": clean(id_or_url)}
        rows = await self._rows(_FIND, wanted)
        return read_document(rows[0]) if rows else None

    @override
    async def text(self, owner: str, id_: str, start: int, end: int) -> str:
        first = min(start, _FAR)
        where = {"start": first, "end": min(max(first, end), _FAR)}
        wanted = {"owners": [owner, EVERYONE], "id": clean(id_), **where}
        rows = await self._rows(_TEXT, wanted)
        return str(rows[0]["text"]) if rows else ""

    @override
    async def listed(self, scope: Scope, after: str, most: int) -> tuple[Document, ...]:
        which, values = clauses(scope)
        rows = await self._rows(
            f"SELECT {SHOWN} FROM documents d {AROUND} WHERE {which} "
            "AND d.url > %(after)s ORDER BY d.url LIMIT %(most)s",
            {**values, "after": clean(after), "most": most},
        )
        return tuple(read_document(row) for row in rows)

    @override
    async def stock(self, owner: str) -> tuple[Stock, ...]:
        return tuple(read_stock(row) for row in await self._rows(_STOCK, ([owner, EVERYONE],)))

    async def _rows(
        self, sql: str, values: tuple[object, ...] | Mapping[str, object]
    ) -> list[dict[str, Any]]:
        async with (await self.database()).transaction() as db:
            return await (await db.execute(sql.encode(), values)).fetchall()
