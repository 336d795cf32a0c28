"""Sessions in SQLite."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.sessions import Line, Session, SessionStore
from junto.storage.session_rows import (
    CHANGING,
    COLUMNS,
    line_row,
    read_line,
    read_session,
    session_row,
)
from junto.storage.sqlite.database import Database

_BEGIN = (
    f"INSERT INTO sessions ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in COLUMNS)}) "
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in CHANGING)} "
    "WHERE sessions.owner = excluded.owner"
)
_TOUCH = "UPDATE sessions SET updated = ? WHERE id = ? RETURNING key"
_ADD = (
    "INSERT INTO session_lines (session, part, text, uuid) VALUES (?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_HOLD = (
    "UPDATE sessions SET holder = :holder, held_until = :until "
    "WHERE id = :id AND (holder IS NULL OR holder = :holder OR held_until < :now)"
)
_RELEASE = "UPDATE sessions SET holder = NULL, held_until = NULL WHERE id = ? AND holder = ?"
_LINES = (
    "SELECT part, text, uuid FROM session_lines "
    "WHERE session = (SELECT key FROM sessions WHERE id = ?) ORDER BY key"
)


@dataclass(frozen=True, slots=True)
class SqliteSessions(SessionStore):
    """Keeps the transcripts of sessions in a file."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def begin(self, session: Session) -> None:
        await (await self.database()).write(lambda db: db.execute(_BEGIN, session_row(session)))

    @override
    async def find(self, owner: str, id_: str) -> Session | None:
        rows = await self._rows("SELECT * FROM sessions WHERE id = ? AND owner = ?", (id_, owner))
        return read_session(rows[0]) if rows else None

    @override
    async def append(self, id_: str, lines: Sequence[Line], at: float) -> None:
        rows = [line_row(line) for line in lines]

        def append(db: sqlite3.Connection) -> None:
            found = db.execute(_TOUCH, (at, id_)).fetchone()
            if found:
                db.executemany(_ADD, [(found["key"], *row) for row in rows])

        await (await self.database()).write(append)

    @override
    async def spent(self, id_: str, cost: float, at: float) -> None:
        sql = "UPDATE sessions SET cost = ?, updated = ? WHERE id = ?"
        await (await self.database()).write(lambda db: db.execute(sql, (cost, at, id_)))

    @override
    async def lines(self, id_: str) -> tuple[Line, ...]:
        return tuple(read_line(row) for row in await self._rows(_LINES, (id_,)))

    @override
    async def hold(self, id_: str, holder: str, until: float, now: float) -> bool:
        values = {"id": id_, "holder": holder, "until": until, "now": now}
        return await (await self.database()).write(
            lambda db: db.execute(_HOLD, values).rowcount == 1
        )

    @override
    async def release(self, id_: str, holder: str) -> None:
        await (await self.database()).write(lambda db: db.execute(_RELEASE, (id_, holder)))

    @override
    async def sweep(self, before: float) -> int:
        sql = "DELETE FROM sessions WHERE updated < ?"
        return await (await self.database()).write(lambda db: db.execute(sql, (before,)).rowcount)

    async def _rows(self, sql: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())
