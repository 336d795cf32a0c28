"""Conversations in PostgreSQL."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from junto.storage.postgres.database import Database
from junto.storage.rows import (
    clean,
    conversation_row,
    message_row,
    page,
    position_of,
    read_conversation,
    read_said,
)

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_SELECT = """
SELECT c.*, p.id AS parent_id FROM conversations c LEFT JOIN conversations p ON p.key = c.parent
"""
# A line is a conversation and those it branched off from, each with how much of it is shared.
_SAID = """
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
_ADD = """
INSERT INTO conversations
    (id, owner, model, title, system, settings, models, status, parent, inherited, length, created,
     updated, touched)
VALUES (%(id)s, %(owner)s, %(model)s, %(title)s, %(system)s, %(settings)s, %(models)s, %(status)s,
    %(parent)s, %(inherited)s, %(inherited)s, %(created)s, %(updated)s, %(updated)s)
ON CONFLICT DO NOTHING RETURNING key
"""
_SAY = """
INSERT INTO messages (conversation, position, role, parts, at, model, provider, usage, cost)
VALUES (%(conversation)s, %(position)s, %(role)s, %(parts)s, %(at)s, %(model)s, %(provider)s,
    %(usage)s, %(cost)s)
"""
_FAR = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PostgresConversations(ConversationStore):
    """Keeps conversations on a server."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def find(self, owner: str, id_: str) -> Conversation | None:
        async with (await self.database()).transaction() as db:
            mine = f"{_SELECT} WHERE c.owner = %s AND c.id = %s AND c.status = 'active'"
            row = await (await db.execute(mine.encode(), (owner, id_))).fetchone()
            return read_conversation(row) if row else None

    @override
    async def said(
        self, owner: str, id_: str, first: int = 0, last: int | None = None
    ) -> tuple[Said, ...]:
        wanted = {"owner": owner, "id": id_, "first": first, "last": _FAR if last is None else last}
        async with (await self.database()).transaction() as db:
            return tuple([read_said(row) async for row in await db.execute(_SAID, wanted)])

    @override
    async def keep(self, conversation: Conversation, turn: tuple[Said, ...]) -> Conflict | None:
        async with (await self.database()).transaction() as db:
            outcome = await _key(db, conversation)
            if isinstance(outcome, Conflict):
                return outcome
            rows = [{**message_row(said), "conversation": outcome} for said in turn]
            async with db.cursor() as cursor:
                await cursor.executemany(_SAY, rows)
            await db.execute(
                "UPDATE conversations SET length = length + %(more)s, title = %(title)s, "
                "models = %(models)s, system = %(system)s, settings = %(settings)s, "
                "updated = %(updated)s, "
                "touched = greatest(touched, %(updated)s) WHERE key = %(key)s",
                {**conversation_row(conversation), "more": len(turn), "key": outcome},
            )
        return None

    @override
    async def change(self, conversation: Conversation) -> bool:
        async with (await self.database()).transaction() as db:
            done = await db.execute(
                "UPDATE conversations SET title = %(title)s, system = %(system)s, "
                "settings = %(settings)s, model = %(model)s, "
                "touched = greatest(touched, %(updated)s) "
                "WHERE owner = %(owner)s AND id = %(id)s AND status = 'active'",
                conversation_row(conversation),
            )
            return done.rowcount > 0

    @override
    async def touch(self, owner: str, id_: str, at: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(
                "UPDATE conversations SET touched = greatest(touched, %s) "
                "WHERE owner = %s AND id = %s",
                (at, owner, id_),
            )

    @override
    async def listed(
        self, owner: str, text: str | None, limit: int, cursor: str | None = None
    ) -> Page:
        updated, key = position_of(cursor)
        titled = "AND strpos(folded, lower(%(text)s)) > 0 " if text else ""
        async with (await self.database()).transaction() as db:
            found = await db.execute(
                # The inner query needs the index alone, however many titles it has to look at.
                (
                    f"{_SELECT} WHERE c.key IN (SELECT key FROM conversations "
                    "WHERE owner = %(owner)s AND status = 'active' "
                    f"AND (updated, key) < (%(updated)s, %(key)s) {titled}"
                    "ORDER BY updated DESC, key DESC LIMIT %(limit)s) "
                    "ORDER BY c.updated DESC, c.key DESC"
                ).encode(),
                {
                    "owner": owner,
                    "updated": updated,
                    "key": key,
                    "text": clean(text or ""),
                    "limit": limit + 1,
                },
            )
            return page(list(await found.fetchall()), limit)

    @override
    async def delete(self, owner: str, id_: str) -> bool:
        async with (await self.database()).transaction() as db:
            done = await db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE owner = %s AND id = %s AND status = 'active'",
                (owner, id_),
            )
            await _purge(db)
            return done.rowcount > 0

    @override
    async def sweep(self, idle_since: float) -> int:
        async with (await self.database()).transaction() as db:
            done = await db.execute(
                "UPDATE conversations SET status = 'deleted' "
                "WHERE status = 'active' AND touched < %s",
                (idle_since,),
            )
            await _purge(db)
            return done.rowcount

    @override
    async def count(self) -> int:
        async with (await self.database()).transaction() as db:
            count = "SELECT count(*) AS number FROM conversations WHERE status = 'active'"
            row = await (await db.execute(count)).fetchone()
            return int(row["number"]) if row else 0

    @override
    async def everything(self, owner: str) -> AsyncIterator[tuple[Conversation, tuple[Said, ...]]]:
        async with (await self.database()).transaction() as db:
            mine = f"{_SELECT} WHERE c.owner = %s ORDER BY c.key"
            rows = await (await db.execute(mine.encode(), (owner,))).fetchall()
        for row in rows:
            own = "SELECT * FROM messages WHERE conversation = %s ORDER BY position"
            async with (await self.database()).transaction() as db:
                said = [read_said(each) async for each in await db.execute(own, (row["key"],))]
            yield read_conversation(row), tuple(said)


async def _key(db: "Connection", conversation: Conversation) -> int | Conflict:
    """Return the row to write to, which no one else can change until the transaction ends."""
    own = {"owner": conversation.owner, "id": conversation.id}
    held = (
        "SELECT key, length, status FROM conversations "
        "WHERE owner = %(owner)s AND id = %(id)s FOR UPDATE"
    )
    row = await (await db.execute(held, own)).fetchone()
    if row and row["status"] == Status.ACTIVE:
        fits = row["length"] == conversation.length
        return int(row["key"]) if fits else Conflict(row["length"])
    if conversation.length > conversation.inherited:
        return Conflict(0)  # it was deleted meanwhile
    if row:  # others still share what is left of it; its id is free again
        await db.execute(
            "UPDATE conversations SET id = id || '~' || key WHERE key = %s", (row["key"],)
        )
    return await _added(db, conversation)


async def _added(db: "Connection", conversation: Conversation) -> int | Conflict:
    parent = None
    if conversation.parent:
        found = await db.execute(
            "SELECT key FROM conversations WHERE owner = %s AND id = %s AND length >= %s FOR SHARE",
            (conversation.owner, conversation.parent, conversation.inherited),
        )
        row = await found.fetchone()
        if row is None:
            raise InputOutputError("The conversation that it branches off from is gone.")
        parent = row["key"]
    added = await db.execute(_ADD, {**conversation_row(conversation), "parent": parent})
    row = await added.fetchone()
    return int(row["key"]) if row else Conflict(conversation.length)  # somebody was quicker


async def _purge(db: "Connection") -> None:
    """Remove what is deleted and shared by nobody, which may free its parent in turn."""
    leaves = (
        "SELECT key FROM conversations c WHERE status = 'deleted' "
        "AND NOT EXISTS (SELECT 1 FROM conversations b WHERE b.parent = c.key) "
        "FOR UPDATE SKIP LOCKED"
    )
    while keys := [row["key"] for row in await (await db.execute(leaves)).fetchall()]:
        await db.execute("DELETE FROM messages WHERE conversation = ANY(%s)", (keys,))
        await db.execute("DELETE FROM conversations WHERE key = ANY(%s)", (keys,))
