"""The SQLite store of jobs."""

import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.jobs import (
    Job,
    JobCommand,
    JobLogEntry,
    JobLogKind,
    JobMailItem,
    JobState,
    JobStore,
    JobUpdate,
    JsonObject,
)
from junto.storage.job_rows import (
    JOB_COLUMNS,
    JOB_LIST_SELECT,
    JOB_MUTABLE_COLUMNS,
    decode_job,
    decode_log_entry,
    encode_job,
    encode_log_entry,
)
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.values import clean_text, encode_json

# A job that has ended is never updated; then no key is returned.
_UPSERT_JOB = (
    f"INSERT INTO jobs ({', '.join(JOB_COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in JOB_COLUMNS)}) "
    "ON CONFLICT (id) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in JOB_MUTABLE_COLUMNS)} "
    "WHERE jobs.ended IS NULL RETURNING key"
)
_INSERT_LOG_ENTRY = "INSERT INTO job_entries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_INSERT_LOST_ENTRY = """
INSERT INTO job_entries
SELECT :job, coalesce(max(sequence), 0) + 1, :at, :kind, :state FROM job_entries WHERE job = :job
"""


@dataclass(frozen=True, slots=True)
class SqliteJobs(JobStore):
    """A store of jobs in a SQLite file."""

    database: Callable[[], Awaitable[SqliteDatabase]]
    now: Callable[[], float] = time.time

    @override
    async def save_updates(self, updates: Sequence[JobUpdate]) -> frozenset[str]:
        def save_updates(db: sqlite3.Connection) -> frozenset[str]:
            lost = set()
            for update in updates:
                job_row = db.execute(_UPSERT_JOB, encode_job(update.job)).fetchone()
                if job_row:
                    rows = [(job_row["key"], *encode_log_entry(entry)) for entry in update.entries]
                    db.executemany(_INSERT_LOG_ENTRY, rows)
                else:
                    sql = "SELECT id FROM jobs WHERE id = ? AND state = ?"
                    lost |= {row["id"] for row in db.execute(sql, (update.job.id, JobState.LOST))}
            return frozenset(lost)

        return await (await self.database()).write(save_updates)

    @override
    async def find(self, owner: str, id_: str) -> Job | None:
        sql = "SELECT * FROM jobs WHERE id = ? AND owner = ?"
        rows = await self._fetch_rows(sql, (id_, owner))
        return decode_job(rows[0]) if rows else None

    @override
    async def list_recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        sql = (
            f"SELECT {JOB_LIST_SELECT} FROM jobs WHERE owner = ? "
            "ORDER BY created DESC, key DESC LIMIT ?"
        )
        return tuple(decode_job(row) for row in await self._fetch_rows(sql, (owner, limit)))

    @override
    async def read_log(self, id_: str, after: int, limit: int) -> tuple[JobLogEntry, ...]:
        sql = (
            "SELECT * FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = ?) "
            "AND sequence > ? ORDER BY sequence LIMIT ?"
        )
        return tuple(
            decode_log_entry(row) for row in await self._fetch_rows(sql, (id_, after, limit))
        )

    @override
    async def read_text(self, id_: str) -> str:
        sql = (
            "SELECT text FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = ?) "
            "AND kind = ? ORDER BY sequence"
        )
        return "".join(row["text"] for row in await self._fetch_rows(sql, (id_, JobLogKind.TEXT)))

    @override
    async def send_command(self, item: JobMailItem) -> None:
        def send(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO job_letters (job, wish, text) "
                "SELECT key, ?, ? FROM jobs WHERE id = ? AND ended IS NULL",
                (item.command, clean_text(item.text), item.job_id),
            )

        await (await self.database()).write(send)

    @override
    async def take_commands(self, server: str) -> tuple[JobMailItem, ...]:
        sql = (
            "SELECT l.key, j.id, l.wish, l.text FROM jobs j JOIN job_letters l ON l.job = j.key "
            "WHERE j.server = ? AND j.ended IS NULL ORDER BY l.key"
        )
        # Reading first avoids the write lock: usually there are no commands.
        rows = await self._fetch_rows(sql, (server,))
        if rows:
            keys = [(row["key"],) for row in rows]
            await (await self.database()).write(
                lambda db: db.executemany("DELETE FROM job_letters WHERE key = ?", keys)
            )
        return tuple(JobMailItem(row["id"], JobCommand(row["wish"]), row["text"]) for row in rows)

    @override
    async def record_heartbeat(self, server: str) -> None:
        await (await self.database()).write(
            lambda db: db.execute(
                "INSERT INTO servers VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen = max(seen, "
                "excluded.seen)",
                (server, self.now()),
            )
        )

    @override
    async def list_busy_servers(self) -> Mapping[str, float]:
        sql = (
            "SELECT j.server, ? - max(coalesce(s.seen, 0), max(j.updated)) AS ago "
            "FROM jobs j LEFT JOIN servers s ON s.id = j.server "
            "WHERE j.ended IS NULL GROUP BY j.server"
        )
        return {row["server"]: row["ago"] for row in await self._fetch_rows(sql, (self.now(),))}

    @override
    async def mark_lost(self, server: str, at: float, error: JsonObject) -> int:
        def mark_lost(db: sqlite3.Connection) -> int:
            rows = db.execute(
                "UPDATE jobs SET state = ?, ended = ?, updated = ?, error = ?, asks = NULL "
                "WHERE server = ? AND ended IS NULL RETURNING key",
                (JobState.LOST, at, at, encode_json(error), server),
            ).fetchall()
            entry = {"at": at, "kind": JobLogKind.STATE, "state": JobState.LOST}
            db.executemany(_INSERT_LOST_ENTRY, [{"job": row["key"], **entry} for row in rows])
            db.execute("DELETE FROM servers WHERE id = ?", (server,))
            return len(rows)

        return await (await self.database()).write(mark_lost)

    @override
    async def delete_expired(self, before: float) -> int:
        def delete_expired(db: sqlite3.Connection) -> int:
            db.execute(
                "DELETE FROM servers WHERE seen < ? "
                "AND id NOT IN (SELECT server FROM jobs WHERE ended IS NULL)",
                (before,),
            )
            return db.execute("DELETE FROM jobs WHERE ended < ?", (before,)).rowcount

        return await (await self.database()).write(delete_expired)

    async def _fetch_rows(self, sql: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())
