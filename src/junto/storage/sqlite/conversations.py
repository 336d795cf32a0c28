"""Conversations in SQLite."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.conversations import (
    Conflict,
    Conversation,
    ConversationStore,
    Page,
    Said,
    Status,
)
from junto.domain.errors import InputOutputError
from junto.storage.rows import (
    clean,
    conversation_row,
    message_row,
    page,
    position_of,
    read_conversation,
    read_said,
)
from junto.storage.sqlite.database import Database

_SELECT = """
SELECT c.*, p.id AS parent_id FROM conversations c LEFT JOIN conversations p ON p.key = c.parent
"""
# The inner query needs the index alone, however many titles it has to look at.
_LISTED = (
    _SELECT
    + r"""
WHERE c.key IN (
    SELECT key FROM conversations WHERE owner = ? AND status = 'active'
        AND (updated, key) < (?, ?) AND title LIKE ? ESCAPE '\'
    ORDER BY updated DESC, key DESC LIMIT ?
) ORDER BY c.updated DESC, c.key DESC
"""
)
# A line is a conversation and those it branched off from, each with how much of it is shared.
_SAID = """
WITH RECURSIVE line (key, parent, first, last) AS (
    SELECT key, parent, inherited, length FROM conversations WHERE owner = :owner AND id = :id
    UNION ALL
    SELECT c.key, c.parent, c.inherited, min(line.first, line.last)
    FROM line JOIN conversations c ON c.key = line.parent
    WHERE line.first > :first
)
SELECT m.* FROM line CROSS JOIN messages m ON m.conversation = line.key
    AND m.position >= max(line.first, :first) AND m.position < min(line.last, :last)
ORDER BY m.position
"""
_ADD = """
INSERT INTO conversations
    (id, owner, model, title, system, settings, models, status, parent, inherited, length, created,
     updated, touched)
VALUES (:id, :owner, :model, :title, :system, :settings, :models, :status, :parent, :inherited,
    :inherited, :created, :updated, :updated)
RETURNING key
"""
_SAY = """
INSERT INTO messages (conversation, position, role, parts, at, model, provider, usage, cost)
VALUES (:conversation, :position, :role, :parts, :at, :model, :provider, :usage, :cost)
"""
_FAR = 2**62


@dataclass(frozen=True, slots=True)
class SqliteConversations(ConversationStore):
    """Keeps conversations in a file."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def find(self, owner: str, id_: str) -> Conversation | None:
        return await (await self.database()).read(lambda db: _found(db, owner, id_))

    @override
    async def said(
        self, owner: str, id_: str, first: int = 0, last: int | None = None
    ) -> tuple[Said, ...]:
        wanted = {"owner": owner, "id": id_, "first": first, "last": _FAR if last is None else last}

        def read(db: sqlite3.Connection) -> tuple[Said, ...]:
            return tuple(read_said(row) for row in db.execute(_SAID, wanted))

        return await (await self.database()).read(read)

    @override
    async def keep(self, conversation: Conversation, turn: tuple[Said, ...]) -> Conflict | None:
        return await (await self.database()).write(lambda db: _kept(db, conversation, turn))

    @override
    async def change(self, conversation: Conversation) -> bool:
        row = conversation_row(conversation)

        def changed(db: sqlite3.Connection) -> bool:
            done = db.execute(
                "UPDATE conversations SET title = :title, system = :system, settings = :settings, "
                "model = :model, touched = max(touched, :updated) "
                "WHERE owner = :owner AND id = :id AND status = 'active'",
                row,
            )
            return done.rowcount > 0

        return await (await self.database()).write(changed)

    @override
    async def touch(self, owner: str, id_: str, at: float) -> None:
        def touched(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE conversations SET touched = max(touched, ?) WHERE owner = ? AND id = ?",
                (at, owner, id_),
            )

        await (await self.database()).write(touched)

    @override
    async def listed(
        self, owner: str, text: str | None, limit: int, cursor: str | None = None
    ) -> Page:
        updated, key = position_of(cursor)
        pattern = f"%{_escaped(clean(text))}%" if text else "%"

        def read(db: sqlite3.Connection) -> Page:
            wanted = (owner, updated, key, pattern, limit + 1)
            return page(db.execute(_LISTED, wanted).fetchall(), limit)

        return await (await self.database()).read(read)

    @override
    async def delete(self, owner: str, id_: str) -> bool:
        def deleted(db: sqlite3.Connection) -> bool:
            done = db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE owner = ? AND id = ? AND status = 'active'",
                (owner, id_),
            )
            _purge(db)
            return done.rowcount > 0

        return await (await self.database()).write(deleted)

    @override
    async def sweep(self, idle_since: float) -> int:
        def swept(db: sqlite3.Connection) -> int:
            done = db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE status = 'active' AND touched < ?",
                (idle_since,),
            )
            _purge(db)
            return done.rowcount

        return await (await self.database()).write(swept)

    @override
    async def count(self) -> int:
        def read(db: sqlite3.Connection) -> int:
            row = db.execute("SELECT count(*) FROM conversations WHERE status = 'active'")
            return int(row.fetchone()[0])

        return await (await self.database()).read(read)

    @override
    async def everything(self, owner: str) -> AsyncIterator[tuple[Conversation, tuple[Said, ...]]]:
        def keys(db: sqlite3.Connection) -> list[int]:
            rows = db.execute(
                "SELECT key FROM conversations WHERE owner = ? ORDER BY key", (owner,)
            )
            return [row["key"] for row in rows]

        def one(db: sqlite3.Connection, key: int) -> tuple[Conversation, tuple[Said, ...]] | None:
            row = db.execute(f"{_SELECT} WHERE c.key = ?", (key,)).fetchone()
            own = "SELECT * FROM messages WHERE conversation = ? ORDER BY position"
            said = tuple(read_said(each) for each in db.execute(own, (key,)))
            return (read_conversation(row), said) if row else None

        for key in await (await self.database()).read(keys):
            if found := await (await self.database()).read(lambda db, key=key: one(db, key)):  # type: ignore[misc]
                yield found


def _found(db: sqlite3.Connection, owner: str, id_: str) -> Conversation | None:
    row = db.execute(
        f"{_SELECT} WHERE c.owner = ? AND c.id = ? AND c.status = 'active'", (owner, id_)
    ).fetchone()
    return read_conversation(row) if row else None


def _kept(
    db: sqlite3.Connection, conversation: Conversation, turn: tuple[Said, ...]
) -> Conflict | None:
    owner, id_ = conversation.owner, conversation.id
    row = db.execute(
        "SELECT key, length, status FROM conversations WHERE owner = ? AND id = ?", (owner, id_)
    ).fetchone()
    gone = row is None or row["status"] != Status.ACTIVE
    if gone and conversation.length > conversation.inherited:
        return Conflict(0)  # it was deleted meanwhile
    if gone:
        if row:  # others still share what is left of it; its id is free again
            db.execute(
                "UPDATE conversations SET id = id || '~' || key WHERE key = ?", (row["key"],)
            )
        key = _added(db, conversation)
    elif row["length"] != conversation.length:
        return Conflict(row["length"])
    else:
        key = row["key"]
    db.executemany(_SAY, [{**message_row(said), "conversation": key} for said in turn])
    after = conversation_row(conversation)
    db.execute(
        "UPDATE conversations SET length = length + :more, title = :title, models = :models, "
        "system = :system, settings = :settings, updated = :updated, "
        "touched = max(touched, :updated) WHERE key = :key",
        {**after, "more": len(turn), "key": key},
    )
    return None


def _added(db: sqlite3.Connection, conversation: Conversation) -> int:
    parent = None
    if conversation.parent:
        found = db.execute(
            "SELECT key FROM conversations WHERE owner = ? AND id = ? AND length >= ?",
            (conversation.owner, conversation.parent, conversation.inherited),
        ).fetchone()
        if found is None:
            raise InputOutputError("The conversation that it branches off from is gone.")
        parent = found["key"]
    row = db.execute(_ADD, {**conversation_row(conversation), "parent": parent}).fetchone()
    return int(row["key"])


def _purge(db: sqlite3.Connection) -> None:
    """Remove what is deleted and shared by nobody, which may free its parent in turn."""
    leaves = (
        "SELECT key FROM conversations c WHERE status = 'deleted' "
        "AND NOT EXISTS (SELECT 1 FROM conversations b WHERE b.parent = c.key)"
    )
    while keys := db.execute(leaves).fetchall():
        db.executemany("DELETE FROM messages WHERE conversation = ?", [(k["key"],) for k in keys])
        db.executemany("DELETE FROM conversations WHERE key = ?", [(k["key"],) for k in keys])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
