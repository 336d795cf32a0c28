"""The PostgreSQL store of agent sessions."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from junto.domain.sessions import Session, SessionStore, TranscriptLine
from junto.storage.conversation_rows import (
    SESSION_COLUMNS,
    SESSION_MUTABLE_COLUMNS,
    decode_session,
    decode_transcript_line,
    encode_session,
    encode_transcript_line,
)
from junto.storage.postgres.database import PostgresDatabase

_SESSION_ASSIGNMENTS = ", ".join(f"{name} = excluded.{name}" for name in SESSION_MUTABLE_COLUMNS)
_UPSERT_SESSION = f"""
INSERT INTO sessions ({", ".join(SESSION_COLUMNS)})
VALUES ({", ".join(f"%({name})s" for name in SESSION_COLUMNS)})
ON CONFLICT (id) DO UPDATE SET {_SESSION_ASSIGNMENTS}
WHERE sessions.owner = excluded.owner
"""
# The update locks the session, so that keys increase in the order of appends.
_INSERT_LINES = """
WITH mine AS (UPDATE sessions SET updated = %(at)s WHERE id = %(id)s RETURNING key)
INSERT INTO session_lines (session, part, text, uuid)
SELECT mine.key, new.part, new.text, new.uuid
FROM mine, unnest(%(parts)s::text[], %(texts)s::text[], %(uuids)s::text[])
    WITH ORDINALITY AS new (part, text, uuid, place)
ORDER BY new.place
ON CONFLICT DO NOTHING
"""
_ACQUIRE_LEASE = """
UPDATE sessions SET holder = %(holder)s, held_until = %(until)s
WHERE id = %(id)s AND (holder IS NULL OR holder = %(holder)s OR held_until < %(now)s)
"""
_RELEASE_LEASE = (
    "UPDATE sessions SET holder = NULL, held_until = NULL WHERE id = %s AND holder = %s"
)
_SELECT_LINES = """
SELECT part, text, uuid FROM session_lines
WHERE session = (SELECT key FROM sessions WHERE id = %s) ORDER BY key
"""


@dataclass(frozen=True, slots=True)
class PostgresSessions(SessionStore):
    """A store of session transcripts in PostgreSQL."""

    database: Callable[[], Awaitable[PostgresDatabase]]

    @override
    async def save(self, session: Session) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_UPSERT_SESSION.encode(), encode_session(session))

    @override
    async def find(self, owner: str, id_: str) -> Session | None:
        rows = await self._fetch_rows(
            "SELECT * FROM sessions WHERE id = %s AND owner = %s", (id_, owner)
        )
        return decode_session(rows[0]) if rows else None

    @override
    async def append(self, id_: str, lines: Sequence[TranscriptLine], at: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_INSERT_LINES, {"id": id_, "at": at, **_encode_lines(lines)})

    @override
    async def set_cost(self, id_: str, cost: float, at: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(
                "UPDATE sessions SET cost = %s, updated = %s WHERE id = %s", (cost, at, id_)
            )

    @override
    async def load_lines(self, id_: str) -> tuple[TranscriptLine, ...]:
        return tuple(
            decode_transcript_line(row) for row in await self._fetch_rows(_SELECT_LINES, (id_,))
        )

    @override
    async def acquire_lease(self, id_: str, holder: str, until: float, now: float) -> bool:
        values = {"id": id_, "holder": holder, "until": until, "now": now}
        async with (await self.database()).transaction() as db:
            return (await db.execute(_ACQUIRE_LEASE, values)).rowcount == 1

    @override
    async def release_lease(self, id_: str, holder: str) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_RELEASE_LEASE, (id_, holder))

    @override
    async def delete_expired(self, before: float) -> int:
        async with (await self.database()).transaction() as db:
            return (await db.execute("DELETE FROM sessions WHERE updated < %s", (before,))).rowcount

    async def _fetch_rows(self, sql: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
        async with (await self.database()).transaction() as db:
            return await (await db.execute(sql.encode(), values)).fetchall()


def _encode_lines(lines: Sequence[TranscriptLine]) -> dict[str, list[str | None]]:
    rows = [encode_transcript_line(line) for line in lines]
    names = ("parts", "texts", "uuids")
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}
