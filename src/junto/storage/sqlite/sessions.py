"""The SQLite store of agent sessions."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

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
from junto.storage.sqlite.database import SqliteDatabase

_UPSERT_SESSION = (
    f"INSERT INTO sessions ({', '.join(SESSION_COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in SESSION_COLUMNS)}) "
    "ON CONFLICT (id) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in SESSION_MUTABLE_COLUMNS)} "
    "WHERE sessions.owner = excluded.owner"
)
_TOUCH_SESSION = "UPDATE sessions SET updated = ? WHERE id = ? RETURNING key"
_INSERT_LINE = (
    "INSERT INTO session_lines (session, part, text, uuid) VALUES (?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_ACQUIRE_LEASE = (
    "UPDATE sessions SET holder = :holder, held_until = :until "
    "WHERE id = :id AND (holder IS NULL OR holder = :holder OR held_until < :now)"
)
_RELEASE_LEASE = "UPDATE sessions SET holder = NULL, held_until = NULL WHERE id = ? AND holder = ?"
_SELECT_LINES = (
    "SELECT part, text, uuid FROM session_lines "
    "WHERE session = (SELECT key FROM sessions WHERE id = ?) ORDER BY key"
)


@dataclass(frozen=True, slots=True)
class SqliteSessions(SessionStore):
    """A store of session transcripts in a SQLite file."""

    database: Callable[[], Awaitable[SqliteDatabase]]

    @override
    async def save(self, session: Session) -> None:
        await (await self.database()).write(
            lambda db: db.execute(_UPSERT_SESSION, encode_session(session))
        )

    @override
    async def find(self, owner: str, id_: str) -> Session | None:
        rows = await self._fetch_rows(
            "SELECT * FROM sessions WHERE id = ? AND owner = ?", (id_, owner)
        )
        return decode_session(rows[0]) if rows else None

    @override
    async def append(self, id_: str, lines: Sequence[TranscriptLine], at: float) -> None:
        rows = [encode_transcript_line(line) for line in lines]

        def append(db: sqlite3.Connection) -> None:
            session = db.execute(_TOUCH_SESSION, (at, id_)).fetchone()
            if session:
                db.executemany(_INSERT_LINE, [(session["key"], *row) for row in rows])

        await (await self.database()).write(append)

    @override
    async def set_cost(self, id_: str, cost: float, at: float) -> None:
        sql = "UPDATE sessions SET cost = ?, updated = ? WHERE id = ?"
        await (await self.database()).write(lambda db: db.execute(sql, (cost, at, id_)))

    @override
    async def load_lines(self, id_: str) -> tuple[TranscriptLine, ...]:
        return tuple(
            decode_transcript_line(row) for row in await self._fetch_rows(_SELECT_LINES, (id_,))
        )

    @override
    async def acquire_lease(self, id_: str, holder: str, until: float, now: float) -> bool:
        values = {"id": id_, "holder": holder, "until": until, "now": now}
        return await (await self.database()).write(
            lambda db: db.execute(_ACQUIRE_LEASE, values).rowcount == 1
        )

    @override
    async def release_lease(self, id_: str, holder: str) -> None:
        await (await self.database()).write(lambda db: db.execute(_RELEASE_LEASE, (id_, holder)))

    @override
    async def delete_expired(self, before: float) -> int:
        sql = "DELETE FROM sessions WHERE updated < ?"
        return await (await self.database()).write(lambda db: db.execute(sql, (before,)).rowcount)

    async def _fetch_rows(self, sql: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())
