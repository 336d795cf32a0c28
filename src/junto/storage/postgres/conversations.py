"""The PostgreSQL store of conversations."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from junto.storage.postgres.database import PostgresDatabase
from junto.storage.values import clean_text

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_SELECT = """
SELECT c.*, p.id AS parent_id FROM conversations c LEFT JOIN conversations p ON p.key = c.parent
"""
# `line` is the conversation and its ancestors, each with the range of positions it contributes.
_SELECT_MESSAGES = """
WITH RECURSIVE line (key, parent, first, last) AS (
    SELECT key, parent, inherited, length FROM conversations WHERE owner = %(owner)s AND id = %(id)s
    UNION ALL
    SELECT c.key, c.parent, c.inherited, least(line.first, line.last)
    FROM line JOIN conversations c ON c.key = line.parent
    WHERE line.first > %(first)s
)
SELECT m.position, m.role, m.parts, m.at, m.model, m.provider, m.usage, m.cost
FROM line JOIN messages m ON m.conversation = line.key
    AND m.position >= line.first AND m.position < line.last
    AND m.position >= %(first)s AND m.position < %(last)s
ORDER BY m.position
"""
_INSERT_CONVERSATION = """
INSERT INTO conversations
    (id, owner, model, title, system, settings, models, status, parent, inherited, length, created,
     updated, touched)
VALUES (%(id)s, %(owner)s, %(model)s, %(title)s, %(system)s, %(settings)s, %(models)s, %(status)s,
    %(parent)s, %(inherited)s, %(inherited)s, %(created)s, %(updated)s, %(updated)s)
ON CONFLICT DO NOTHING RETURNING key
"""
_INSERT_MESSAGE = """
INSERT INTO messages (conversation, position, role, parts, at, model, provider, usage, cost)
VALUES (%(conversation)s, %(position)s, %(role)s, %(parts)s, %(at)s, %(model)s, %(provider)s,
    %(usage)s, %(cost)s)
"""
_MAX_POSITION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PostgresConversations(ConversationStore):
    """A store of conversations in PostgreSQL."""

    database: Callable[[], Awaitable[PostgresDatabase]]

    @override
    async def find(self, owner: str, id_: str) -> Conversation | None:
        async with (await self.database()).transaction() as db:
            sql = f"{_SELECT} WHERE c.owner = %s AND c.id = %s AND c.status = 'active'"
            row = await (await db.execute(sql.encode(), (owner, id_))).fetchone()
            return decode_conversation(row) if row else None

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
        async with (await self.database()).transaction() as db:
            return tuple(
                [decode_message(row) async for row in await db.execute(_SELECT_MESSAGES, values)]
            )

    @override
    async def save_turn(
        self, conversation: Conversation, turn: tuple[StoredMessage, ...]
    ) -> Conflict | None:
        async with (await self.database()).transaction() as db:
            outcome = await _lock_or_insert(db, conversation)
            if isinstance(outcome, Conflict):
                return outcome
            rows = [{**encode_message(message), "conversation": outcome} for message in turn]
            async with db.cursor() as cursor:
                await cursor.executemany(_INSERT_MESSAGE, rows)
            await db.execute(
                "UPDATE conversations SET length = length + %(more)s, title = %(title)s, "
                "models = %(models)s, system = %(system)s, settings = %(settings)s, "
                "updated = %(updated)s, "
                "touched = greatest(touched, %(updated)s) WHERE key = %(key)s",
                {**encode_conversation(conversation), "more": len(turn), "key": outcome},
            )
        return None

    @override
    async def update(self, conversation: Conversation) -> bool:
        async with (await self.database()).transaction() as db:
            cursor = await db.execute(
                "UPDATE conversations SET title = %(title)s, system = %(system)s, "
                "settings = %(settings)s, model = %(model)s, "
                "touched = greatest(touched, %(updated)s) "
                "WHERE owner = %(owner)s AND id = %(id)s AND status = 'active'",
                encode_conversation(conversation),
            )
            return cursor.rowcount > 0

    @override
    async def touch(self, owner: str, id_: str, at: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(
                "UPDATE conversations SET touched = greatest(touched, %s) "
                "WHERE owner = %s AND id = %s",
                (at, owner, id_),
            )

    @override
    async def list_conversations(
        self, owner: str, text: str | None, limit: int, cursor: str | None = None
    ) -> ConversationPage:
        updated, key = decode_cursor(cursor)
        title_filter = "AND strpos(folded, lower(%(text)s)) > 0 " if text else ""
        async with (await self.database()).transaction() as db:
            result = await db.execute(
                # The inner query reads the index only, however many titles it has to compare.
                (
                    f"{_SELECT} WHERE c.key IN (SELECT key FROM conversations "
                    "WHERE owner = %(owner)s AND status = 'active' "
                    f"AND (updated, key) < (%(updated)s, %(key)s) {title_filter}"
                    "ORDER BY updated DESC, key DESC LIMIT %(limit)s) "
                    "ORDER BY c.updated DESC, c.key DESC"
                ).encode(),
                {
                    "owner": owner,
                    "updated": updated,
                    "key": key,
                    "text": clean_text(text or ""),
                    "limit": limit + 1,
                },
            )
            return build_page(list(await result.fetchall()), limit)

    @override
    async def delete(self, owner: str, id_: str) -> bool:
        async with (await self.database()).transaction() as db:
            cursor = await db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE owner = %s AND id = %s AND status = 'active'",
                (owner, id_),
            )
            await _purge(db)
            return cursor.rowcount > 0

    @override
    async def delete_expired(self, idle_since: float) -> int:
        async with (await self.database()).transaction() as db:
            cursor = await db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE status = 'active' AND touched < %s",
                (idle_since,),
            )
            await _purge(db)
            return cursor.rowcount

    @override
    async def count(self) -> int:
        async with (await self.database()).transaction() as db:
            sql = "SELECT count(*) AS number FROM conversations WHERE status = 'active'"
            row = await (await db.execute(sql)).fetchone()
            return int(row["number"]) if row else 0

    @override
    async def iter_all(
        self, owner: str
    ) -> AsyncIterator[tuple[Conversation, tuple[StoredMessage, ...]]]:
        async with (await self.database()).transaction() as db:
            sql = f"{_SELECT} WHERE c.owner = %s ORDER BY c.key"
            rows = await (await db.execute(sql.encode(), (owner,))).fetchall()
        for row in rows:
            select = "SELECT * FROM messages WHERE conversation = %s ORDER BY position"
            async with (await self.database()).transaction() as db:
                result = await db.execute(select, (row["key"],))
                messages = [decode_message(each) async for each in result]
            yield decode_conversation(row), tuple(messages)


async def _lock_or_insert(db: "Connection", conversation: Conversation) -> int | Conflict:
    """Return the key of the conversation, whose row is locked until the transaction ends."""
    values = {"owner": conversation.owner, "id": conversation.id}
    sql = (
        "SELECT key, length, status FROM conversations "
        "WHERE owner = %(owner)s AND id = %(id)s FOR UPDATE"
    )
    row = await (await db.execute(sql, values)).fetchone()
    if row and row["status"] == ConversationStatus.ACTIVE:
        is_unchanged = row["length"] == conversation.length
        return int(row["key"]) if is_unchanged else Conflict(row["length"])
    if conversation.length > conversation.inherited:
        return Conflict(0)  # it was deleted meanwhile
    if row:  # deleted but still shared by branches: rename it, so that its id is free again
        await db.execute(
            "UPDATE conversations SET id = id || '~' || key WHERE key = %s", (row["key"],)
        )
    return await _insert_conversation(db, conversation)


async def _insert_conversation(db: "Connection", conversation: Conversation) -> int | Conflict:
    parent = None
    if conversation.parent:
        result = await db.execute(
            "SELECT key FROM conversations WHERE owner = %s AND id = %s AND length >= %s FOR SHARE",
            (conversation.owner, conversation.parent, conversation.inherited),
        )
        row = await result.fetchone()
        if row is None:
            raise InputOutputError("The conversation that it branches off from is gone.")
        parent = row["key"]
    result = await db.execute(
        _INSERT_CONVERSATION, {**encode_conversation(conversation), "parent": parent}
    )
    row = await result.fetchone()
    # No row: another server has just inserted the same id.
    return int(row["key"]) if row else Conflict(conversation.length)


async def _purge(db: "Connection") -> None:
    """Remove deleted conversations without branches, repeatedly: that may free their parents."""
    leaves = (
        "SELECT key FROM conversations c WHERE status = 'deleted' "
        "AND NOT EXISTS (SELECT 1 FROM conversations b WHERE b.parent = c.key) "
        "FOR UPDATE SKIP LOCKED"
    )
    while keys := [row["key"] for row in await (await db.execute(leaves)).fetchall()]:
        await db.execute("DELETE FROM messages WHERE conversation = ANY(%s)", (keys,))
        await db.execute("DELETE FROM conversations WHERE key = ANY(%s)", (keys,))
