"""Jobs in SQLite."""

import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.jobs import Entry, Facts, Job, JobStore, Kind, Letter, Record, State, Wish
from junto.storage.job_rows import (
    CHANGING,
    COLUMNS,
    LISTED,
    entry_row,
    job_row,
    json_text,
    read_entry,
    read_job,
)
from junto.storage.rows import clean
from junto.storage.sqlite.database import Database

# A job that has ended is not touched again, and then there is no key.
_WRITE = (
    f"INSERT INTO jobs ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in COLUMNS)}) "
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in CHANGING)} "
    "WHERE jobs.ended IS NULL RETURNING key"
)
_LOG = "INSERT INTO job_entries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_LOST = """
INSERT INTO job_entries
SELECT :job, coalesce(max(sequence), 0) + 1, :at, :kind, :state FROM job_entries WHERE job = :job
"""


@dataclass(frozen=True, slots=True)
class SqliteJobs(JobStore):
    """Keeps the records of jobs in a file."""

    database: Callable[[], Awaitable[Database]]
    now: Callable[[], float] = time.time

    @override
    async def write(self, records: Sequence[Record]) -> frozenset[str]:
        def write(db: sqlite3.Connection) -> frozenset[str]:
            lost = set()
            for record in records:
                found = db.execute(_WRITE, job_row(record.job)).fetchone()
                if found:
                    rows = [(found["key"], *entry_row(entry)) for entry in record.entries]
                    db.executemany(_LOG, rows)
                else:
                    sql = "SELECT id FROM jobs WHERE id = ? AND state = ?"
                    lost |= {row["id"] for row in db.execute(sql, (record.job.id, State.LOST))}
            return frozenset(lost)

        return await (await self.database()).write(write)

    @override
    async def find(self, owner: str, id_: str) -> Job | None:
        sql = "SELECT * FROM jobs WHERE id = ? AND owner = ?"
        rows = await self._rows(sql, (id_, owner))
        return read_job(rows[0]) if rows else None

    @override
    async def recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        sql = f"SELECT {LISTED} FROM jobs WHERE owner = ? ORDER BY created DESC, key DESC LIMIT ?"
        return tuple(read_job(row) for row in await self._rows(sql, (owner, limit)))

    @override
    async def entries(self, id_: str, after: int, limit: int) -> tuple[Entry, ...]:
        sql = (
            "SELECT * FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = ?) "
            "AND sequence > ? ORDER BY sequence LIMIT ?"
        )
        return tuple(read_entry(row) for row in await self._rows(sql, (id_, after, limit)))

    @override
    async def text(self, id_: str) -> str:
        sql = (
            "SELECT text FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = ?) "
            "AND kind = ? ORDER BY sequence"
        )
        return "".join(row["text"] for row in await self._rows(sql, (id_, Kind.TEXT)))

    @override
    async def send(self, letter: Letter) -> None:
        def send(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO job_letters (job, wish, text) "
                "SELECT key, ?, ? FROM jobs WHERE id = ? AND ended IS NULL",
                (letter.wish, clean(letter.text), letter.job),
            )

        await (await self.database()).write(send)

    @override
    async def collect(self, server: str) -> tuple[Letter, ...]:
        sql = (
            "SELECT l.key, j.id, l.wish, l.text FROM jobs j JOIN job_letters l ON l.job = j.key "
            "WHERE j.server = ? AND j.ended IS NULL ORDER BY l.key"
        )
        rows = await self._rows(sql, (server,))  # looking first: mostly there are none
        if rows:
            keys = [(row["key"],) for row in rows]
            await (await self.database()).write(
                lambda db: db.executemany("DELETE FROM job_letters WHERE key = ?", keys)
            )
        return tuple(Letter(row["id"], Wish(row["wish"]), row["text"]) for row in rows)

    @override
    async def beat(self, server: str) -> None:
        await (await self.database()).write(
            lambda db: db.execute(
                "INSERT INTO servers VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen = max(seen, "
                "excluded.seen)",
                (server, self.now()),
            )
        )

    @override
    async def unfinished(self) -> Mapping[str, float]:
        sql = (
            "SELECT j.server, ? - max(coalesce(s.seen, 0), max(j.updated)) AS ago "
            "FROM jobs j LEFT JOIN servers s ON s.id = j.server "
            "WHERE j.ended IS NULL GROUP BY j.server"
        )
        return {row["server"]: row["ago"] for row in await self._rows(sql, (self.now(),))}

    @override
    async def lose(self, server: str, at: float, error: Facts) -> int:
        def lose(db: sqlite3.Connection) -> int:
            rows = db.execute(
                "UPDATE jobs SET state = ?, ended = ?, updated = ?, error = ?, asks = NULL "
                "WHERE server = ? AND ended IS NULL RETURNING key",
                (State.LOST, at, at, json_text(error), server),
            ).fetchall()
            facts = {"at": at, "kind": Kind.STATE, "state": State.LOST}
            db.executemany(_LOST, [{"job": row["key"], **facts} for row in rows])
            db.execute("DELETE FROM servers WHERE id = ?", (server,))
            return len(rows)

        return await (await self.database()).write(lose)

    @override
    async def sweep(self, before: float) -> int:
        def sweep(db: sqlite3.Connection) -> int:
            db.execute(
                "DELETE FROM servers WHERE seen < ? "
                "AND id NOT IN (SELECT server FROM jobs WHERE ended IS NULL)",
                (before,),
            )
            return db.execute("DELETE FROM jobs WHERE ended < ?", (before,)).rowcount

        return await (await self.database()).write(sweep)

    async def _rows(self, sql: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())
