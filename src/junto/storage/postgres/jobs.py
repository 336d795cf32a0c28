"""The PostgreSQL store of jobs."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from junto.storage.postgres.database import PostgresDatabase
from junto.storage.values import clean_text, encode_json

_JOB_ASSIGNMENTS = ", ".join(f"{name} = excluded.{name}" for name in JOB_MUTABLE_COLUMNS)
# A job that has ended is never updated; then nothing is added to its log either.
_UPSERT_JOB = f"""
WITH mine AS (
    INSERT INTO jobs ({", ".join(JOB_COLUMNS)})
    VALUES ({", ".join(f"%({name})s" for name in JOB_COLUMNS)})
    ON CONFLICT (id) DO UPDATE SET {_JOB_ASSIGNMENTS}
    WHERE jobs.ended IS NULL RETURNING key
)
INSERT INTO job_entries
SELECT mine.key, new.* FROM mine, unnest(
    %(sequences)s::integer[], %(times)s::double precision[], %(kinds)s::text[], %(texts)s::text[]
) AS new
ON CONFLICT DO NOTHING
"""
_SELECT_LOG = """
SELECT * FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = %s)
AND sequence > %s ORDER BY sequence LIMIT %s
"""
_SELECT_TEXT = """
SELECT text FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = %s)
AND kind = %s ORDER BY sequence
"""
_INSERT_COMMAND = """
INSERT INTO job_letters (job, wish, text)
SELECT key, %s, %s FROM jobs WHERE id = %s AND ended IS NULL
"""
_TAKE_COMMANDS = """
DELETE FROM job_letters USING jobs
WHERE jobs.key = job_letters.job AND jobs.server = %s AND jobs.ended IS NULL
RETURNING job_letters.key, jobs.id, job_letters.wish, job_letters.text
"""
# The clock of the database server, because the clocks of Junto servers may differ.
_NOW = "extract(epoch FROM clock_timestamp())"
_RECORD_HEARTBEAT = f"""
INSERT INTO servers VALUES (%s, {_NOW}) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen
"""
_SELECT_BUSY_SERVERS = f"""
SELECT jobs.server, {_NOW} - greatest(servers.seen, max(jobs.updated)) AS ago
FROM jobs LEFT JOIN servers ON servers.id = jobs.server
WHERE jobs.ended IS NULL GROUP BY jobs.server, servers.seen
"""
_MARK_LOST = """
WITH lost AS (
    UPDATE jobs SET state = %(state)s, ended = %(at)s, updated = %(at)s, error = %(error)s,
        asks = NULL
    WHERE server = %(server)s AND ended IS NULL RETURNING key
)
INSERT INTO job_entries
SELECT lost.key, 1 + coalesce((SELECT max(sequence) FROM job_entries WHERE job = lost.key), 0),
    %(at)s, %(kind)s, %(state)s
FROM lost
"""


@dataclass(frozen=True, slots=True)
class PostgresJobs(JobStore):
    """A store of jobs in PostgreSQL."""

    database: Callable[[], Awaitable[PostgresDatabase]]

    @override
    async def save_updates(self, updates: Sequence[JobUpdate]) -> frozenset[str]:
        # Sorted, so that two servers lock rows in the same order and cannot deadlock.
        rows = [
            _encode_update(update) for update in sorted(updates, key=lambda update: update.job.id)
        ]
        async with (await self.database()).transaction() as db, db.cursor() as cursor:
            await cursor.executemany(_UPSERT_JOB.encode(), rows)
            await cursor.execute(
                "SELECT id FROM jobs WHERE id = ANY(%s) AND state = %s",
                ([row["id"] for row in rows], JobState.LOST),
            )
            return frozenset(row["id"] for row in await cursor.fetchall())

    @override
    async def find(self, owner: str, id_: str) -> Job | None:
        rows = await self._fetch_rows(
            "SELECT * FROM jobs WHERE id = %s AND owner = %s", (id_, owner)
        )
        return decode_job(rows[0]) if rows else None

    @override
    async def list_recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        sql = (
            f"SELECT {JOB_LIST_SELECT} FROM jobs WHERE owner = %s "
            "ORDER BY created DESC, key DESC LIMIT %s"
        )
        return tuple(decode_job(row) for row in await self._fetch_rows(sql, (owner, limit)))

    @override
    async def read_log(self, id_: str, after: int, limit: int) -> tuple[JobLogEntry, ...]:
        return tuple(
            decode_log_entry(row)
            for row in await self._fetch_rows(_SELECT_LOG, (id_, after, limit))
        )

    @override
    async def read_text(self, id_: str) -> str:
        return "".join(
            row["text"] for row in await self._fetch_rows(_SELECT_TEXT, (id_, JobLogKind.TEXT))
        )

    @override
    async def send_command(self, item: JobMailItem) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_INSERT_COMMAND, (item.command, clean_text(item.text), item.job_id))

    @override
    async def take_commands(self, server: str) -> tuple[JobMailItem, ...]:
        rows = sorted(
            await self._fetch_rows(_TAKE_COMMANDS, (server,)), key=lambda row: int(row["key"])
        )
        return tuple(JobMailItem(row["id"], JobCommand(row["wish"]), row["text"]) for row in rows)

    @override
    async def record_heartbeat(self, server: str) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_RECORD_HEARTBEAT.encode(), (server,))

    @override
    async def list_busy_servers(self) -> Mapping[str, float]:
        return {
            row["server"]: float(row["ago"])
            for row in await self._fetch_rows(_SELECT_BUSY_SERVERS, ())
        }

    @override
    async def mark_lost(self, server: str, at: float, error: JsonObject) -> int:
        values = {"kind": JobLogKind.STATE, "state": JobState.LOST, "error": encode_json(error)}
        async with (await self.database()).transaction() as db:
            cursor = await db.execute(_MARK_LOST, {"server": server, "at": at, **values})
            await db.execute("DELETE FROM servers WHERE id = %s", (server,))
            return cursor.rowcount

    @override
    async def delete_expired(self, before: float) -> int:
        async with (await self.database()).transaction() as db:
            await db.execute(
                "DELETE FROM servers WHERE seen < %s "
                "AND id NOT IN (SELECT server FROM jobs WHERE ended IS NULL)",
                (before,),
            )
            return (await db.execute("DELETE FROM jobs WHERE ended < %s", (before,))).rowcount

    async def _fetch_rows(self, sql: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
        async with (await self.database()).transaction() as db:
            return await (await db.execute(sql.encode(), values)).fetchall()


def _encode_update(update: JobUpdate) -> dict[str, Any]:
    columns = [list(column) for column in zip(*map(encode_log_entry, update.entries), strict=True)]
    names = ("sequences", "times", "kinds", "texts")
    return encode_job(update.job) | dict(zip(names, columns or [[], [], [], []], strict=True))
