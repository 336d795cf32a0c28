"""Sessions in PostgreSQL."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from junto.domain.sessions import Line, Session, SessionStore
from junto.storage.postgres.database import Database
from junto.storage.session_rows import (
    CHANGING,
    COLUMNS,
    line_row,
    read_line,
    read_session,
    session_row,
)

_BEGIN = f"""
INSERT INTO sessions ({", ".join(COLUMNS)})
VALUES ({", ".join(f"%({name})s" for name in COLUMNS)})
ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in CHANGING)}
WHERE sessions.owner = excluded.owner
"""
# The update locks the session first, so that keys grow in the order in which appends are done.
_APPEND = """
WITH mine AS (UPDATE sessions SET updated = %(at)s WHERE id = %(id)s RETURNING key)
INSERT INTO session_lines (session, part, text, uuid)
SELECT mine.key, new.part, new.text, new.uuid
FROM mine, unnest(%(parts)s::text[], %(texts)s::text[], %(uuids)s::text[])
    WITH ORDINALITY AS new (part, text, uuid, place)
ORDER BY new.place
ON CONFLICT DO NOTHING
"""
_HOLD = """
UPDATE sessions SET holder = %(holder)s, held_until = %(until)s
WHERE id = %(id)s AND (holder IS NULL OR holder = %(holder)s OR held_until < %(now)s)
"""
_RELEASE = "UPDATE sessions SET holder = NULL, held_until = NULL WHERE id = %s AND holder = %s"
_LINES = """
SELECT part, text, uuid FROM session_lines
WHERE session = (SELECT key FROM sessions WHERE id = %s) ORDER BY key
"""


@dataclass(frozen=True, slots=True)
class PostgresSessions(SessionStore):
    """Keeps the transcripts of sessions on a server."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def begin(self, session: Session) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_BEGIN.encode(), session_row(session))

    @override
    async def find(self, owner: str, id_: str) -> Session | None:
        rows = await self._rows("SELECT * FROM sessions WHERE id = %s AND owner = %s", (id_, owner))
        return read_session(rows[0]) if rows else None

    @override
    async def append(self, id_: str, lines: Sequence[Line], at: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_APPEND, {"id": id_, "at": at, **_columns(lines)})

    @override
    async def spent(self, id_: str, cost: float, at: float) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(
                "UPDATE sessions SET cost = %s, updated = %s WHERE id = %s", (cost, at, id_)
            )

    @override
    async def lines(self, id_: str) -> tuple[Line, ...]:
        return tuple(read_line(row) for row in await self._rows(_LINES, (id_,)))

    @override
    async def hold(self, id_: str, holder: str, until: float, now: float) -> bool:
        values = {"id": id_, "holder": holder, "until": until, "now": now}
        async with (await self.database()).transaction() as db:
            return (await db.execute(_HOLD, values)).rowcount == 1

    @override
    async def release(self, id_: str, holder: str) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_RELEASE, (id_, holder))

    @override
    async def sweep(self, before: float) -> int:
        async with (await self.database()).transaction() as db:
            return (await db.execute("DELETE FROM sessions WHERE updated < %s", (before,))).rowcount

    async def _rows(self, sql: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
        async with (await self.database()).transaction() as db:
            return await (await db.execute(sql.encode(), values)).fetchall()


def _columns(lines: Sequence[Line]) -> dict[str, list[str | None]]:
    rows = [line_row(line) for line in lines]
    names = ("parts", "texts", "uuids")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
