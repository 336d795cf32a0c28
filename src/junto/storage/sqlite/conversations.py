"""The SQLite store of conversations."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.conversations import (
    Conflict,
    Conversation,
    ConversationPage,
    ConversationStatus,
    ConversationStore,
    StoredMessage,
)
from junto.domain.errors import InputOutputError
from junto.storage.conversation_rows import (
    build_page,
    decode_conversation,
    decode_cursor,
    decode_message,
    encode_conversation,
    encode_message,
)
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.values import clean_text

_SELECT = """
SELECT c.*, p.id AS parent_id FROM conversations c LEFT JOIN conversations p ON p.key = c.parent
"""
# The inner query reads the index only, however many titles it has to compare.
_SELECT_PAGE = (
    _SELECT
    + r"""
WHERE c.key IN (
    SELECT key FROM conversations WHERE owner = ? AND status = 'active'
        AND (updated, key) < (?, ?) AND title LIKE ? ESCAPE '\'
    ORDER BY updated DESC, key DESC LIMIT ?
) ORDER BY c.updated DESC, c.key DESC
"""
)
# `line` is the conversation and its ancestors, each with the range of positions it contributes.
_SELECT_MESSAGES = """
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
_INSERT_CONVERSATION = """
INSERT INTO conversations
    (id, owner, model, title, system, settings, models, status, parent, inherited, length, created,
     updated, touched)
VALUES (:id, :owner, :model, :title, :system, :settings, :models, :status, :parent, :inherited,
    :inherited, :created, :updated, :updated)
RETURNING key
"""
_INSERT_MESSAGE = """
INSERT INTO messages (conversation, position, role, parts, at, model, provider, usage, cost)
VALUES (:conversation, :position, :role, :parts, :at, :model, :provider, :usage, :cost)
"""
_MAX_POSITION = 2**62


@dataclass(frozen=True, slots=True)
class SqliteConversations(ConversationStore):
    """A store of conversations in a SQLite file."""

    database: Callable[[], Awaitable[SqliteDatabase]]

    @override
    async def find(self, owner: str, id_: str) -> Conversation | None:
        return await (await self.database()).read(lambda db: _find(db, owner, id_))

    @override
    async def load_messages(
        self, owner: str, id_: str, first: int = 0, last: int | None = None
    ) -> tuple[StoredMessage, ...]:
        values = {
            "owner": owner,
            "id": id_,
            "first": first,
            "last": _MAX_POSITION if last is None else last,
        }

        def read(db: sqlite3.Connection) -> tuple[StoredMessage, ...]:
            return tuple(decode_message(row) for row in db.execute(_SELECT_MESSAGES, values))

        return await (await self.database()).read(read)

    @override
    async def save_turn(
        self, conversation: Conversation, turn: tuple[StoredMessage, ...]
    ) -> Conflict | None:
        return await (await self.database()).write(lambda db: _save_turn(db, conversation, turn))

    @override
    async def update(self, conversation: Conversation) -> bool:
        row = encode_conversation(conversation)

        def update(db: sqlite3.Connection) -> bool:
            cursor = db.execute(
                "UPDATE conversations SET title = :title, system = :system, settings = :settings, "
                "model = :model, touched = max(touched, :updated) "
                "WHERE owner = :owner AND id = :id AND status = 'active'",
                row,
            )
            return cursor.rowcount > 0

        return await (await self.database()).write(update)

    @override
    async def touch(self, owner: str, id_: str, at: float) -> None:
        def touch(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE conversations SET touched = max(touched, ?) WHERE owner = ? AND id = ?",
                (at, owner, id_),
            )

        await (await self.database()).write(touch)

    @override
    async def list_conversations(
        self, owner: str, text: str | None, limit: int, cursor: str | None = None
    ) -> ConversationPage:
        updated, key = decode_cursor(cursor)
        pattern = f"%{_escape_like(clean_text(text))}%" if text else "%"

        def read(db: sqlite3.Connection) -> ConversationPage:
            values = (owner, updated, key, pattern, limit + 1)
            return build_page(db.execute(_SELECT_PAGE, values).fetchall(), limit)

        return await (await self.database()).read(read)

    @override
    async def delete(self, owner: str, id_: str) -> bool:
        def delete(db: sqlite3.Connection) -> bool:
            cursor = db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE owner = ? AND id = ? AND status = 'active'",
                (owner, id_),
            )
            _purge(db)
            return cursor.rowcount > 0

        return await (await self.database()).write(delete)

    @override
    async def delete_expired(self, idle_since: float) -> int:
        def delete_expired(db: sqlite3.Connection) -> int:
            cursor = db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE status = 'active' AND touched < ?",
                (idle_since,),
            )
            _purge(db)
            return cursor.rowcount

        return await (await self.database()).write(delete_expired)

    @override
    async def count(self) -> int:
        def read(db: sqlite3.Connection) -> int:
            cursor = db.execute("SELECT count(*) FROM conversations WHERE status = 'active'")
            return int(cursor.fetchone()[0])

        return await (await self.database()).read(read)

    @override
    async def iter_all(
        self, owner: str
    ) -> AsyncIterator[tuple[Conversation, tuple[StoredMessage, ...]]]:
        def select_keys(db: sqlite3.Connection) -> list[int]:
            rows = db.execute(
                "SELECT key FROM conversations WHERE owner = ? ORDER BY key", (owner,)
            )
            return [row["key"] for row in rows]

        def select_one(
            db: sqlite3.Connection, key: int
        ) -> tuple[Conversation, tuple[StoredMessage, ...]] | None:
            row = db.execute(f"{_SELECT} WHERE c.key = ?", (key,)).fetchone()
            sql = "SELECT * FROM messages WHERE conversation = ? ORDER BY position"
            messages = tuple(decode_message(each) for each in db.execute(sql, (key,)))
            return (decode_conversation(row), messages) if row else None

        for key in await (await self.database()).read(select_keys):
            if found := await (await self.database()).read(lambda db, key=key: select_one(db, key)):  # type: ignore[misc]
                yield found


def _find(db: sqlite3.Connection, owner: str, id_: str) -> Conversation | None:
    row = db.execute(
        f"{_SELECT} WHERE c.owner = ? AND c.id = ? AND c.status = 'active'", (owner, id_)
    ).fetchone()
    return decode_conversation(row) if row else None


def _save_turn(
    db: sqlite3.Connection, conversation: Conversation, turn: tuple[StoredMessage, ...]
) -> Conflict | None:
    owner, id_ = conversation.owner, conversation.id
    row = db.execute(
        "SELECT key, length, status FROM conversations WHERE owner = ? AND id = ?", (owner, id_)
    ).fetchone()
    is_missing = row is None or row["status"] != ConversationStatus.ACTIVE
    if is_missing and conversation.length > conversation.inherited:
        return Conflict(0)  # it was deleted meanwhile
    if is_missing:
        if row:  # deleted but still shared by branches: rename it, so that its id is free again
            db.execute(
                "UPDATE conversations SET id = id || '~' || key WHERE key = ?", (row["key"],)
            )
        key = _insert_conversation(db, conversation)
    elif row["length"] != conversation.length:
        return Conflict(row["length"])
    else:
        key = row["key"]
    db.executemany(
        _INSERT_MESSAGE, [{**encode_message(message), "conversation": key} for message in turn]
    )
    values = encode_conversation(conversation)
    db.execute(
        "UPDATE conversations SET length = length + :more, title = :title, models = :models, "
        "system = :system, settings = :settings, updated = :updated, "
        "touched = max(touched, :updated) WHERE key = :key",
        {**values, "more": len(turn), "key": key},
    )
    return None


def _insert_conversation(db: sqlite3.Connection, conversation: Conversation) -> int:
    parent = None
    if conversation.parent:
        parent_row = db.execute(
            "SELECT key FROM conversations WHERE owner = ? AND id = ? AND length >= ?",
            (conversation.owner, conversation.parent, conversation.inherited),
        ).fetchone()
        if parent_row is None:
            raise InputOutputError("The conversation that it branches off from is gone.")
        parent = parent_row["key"]
    row = db.execute(
        _INSERT_CONVERSATION, {**encode_conversation(conversation), "parent": parent}
    ).fetchone()
    return int(row["key"])


def _purge(db: sqlite3.Connection) -> None:
    """Remove deleted conversations without branches, repeatedly: that may free their parents."""
    leaves = (
        "SELECT key FROM conversations c WHERE status = 'deleted' "
        "AND NOT EXISTS (SELECT 1 FROM conversations b WHERE b.parent = c.key)"
    )
    while rows := db.execute(leaves).fetchall():
        db.executemany("DELETE FROM messages WHERE conversation = ?", [(r["key"],) for r in rows])
        db.executemany("DELETE FROM conversations WHERE key = ?", [(r["key"],) for r in rows])


def _escape_like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
