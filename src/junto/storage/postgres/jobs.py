"""Jobs in PostgreSQL."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from junto.storage.postgres.database import Database
from junto.storage.rows import clean

# A job that has ended is not touched again; then nothing is logged for it either.
_WRITE = f"""
WITH mine AS (
    INSERT INTO jobs ({", ".join(COLUMNS)})
    VALUES ({", ".join(f"%({name})s" for name in COLUMNS)})
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in CHANGING)}
    WHERE jobs.ended IS NULL RETURNING key
)
INSERT INTO job_entries
SELECT mine.key, new.* FROM mine, unnest(
    %(sequences)s::integer[], %(times)s::double precision[], %(kinds)s::text[], %(texts)s::text[]
) AS new
ON CONFLICT DO NOTHING
"""
_ENTRIES = """
SELECT * FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = %s)
AND sequence > %s ORDER BY sequence LIMIT %s
"""
_TEXT = """
SELECT text FROM job_entries WHERE job = (SELECT key FROM jobs WHERE id = %s)
AND kind = %s ORDER BY sequence
"""
_SEND = """
INSERT INTO job_letters (job, wish, text)
SELECT key, %s, %s FROM jobs WHERE id = %s AND ended IS NULL
"""
_COLLECT = """
DELETE FROM job_letters USING jobs
WHERE jobs.key = job_letters.job AND jobs.server = %s AND jobs.ended IS NULL
RETURNING job_letters.key, jobs.id, job_letters.wish, job_letters.text
"""
# By the server's clock, so that those who ask need not agree on theirs.
_NOW = "extract(epoch FROM clock_timestamp())"
_BEAT = f"""
INSERT INTO servers VALUES (%s, {_NOW}) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen
"""
_UNFINISHED = f"""
SELECT jobs.server, {_NOW} - greatest(servers.seen, max(jobs.updated)) AS ago
FROM jobs LEFT JOIN servers ON servers.id = jobs.server
WHERE jobs.ended IS NULL GROUP BY jobs.server, servers.seen
"""
_LOSE = """
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
    """Keeps the records of jobs on a server."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def write(self, records: Sequence[Record]) -> frozenset[str]:
        # Always in the same order, so that no two servers wait for each other in a circle.
        rows = [_row(record) for record in sorted(records, key=lambda record: record.job.id)]
        async with (await self.database()).transaction() as db, db.cursor() as cursor:
            await cursor.executemany(_WRITE.encode(), rows)
            await cursor.execute(
                "SELECT id FROM jobs WHERE id = ANY(%s) AND state = %s",
                ([row["id"] for row in rows], State.LOST),
            )
            return frozenset(row["id"] for row in await cursor.fetchall())

    @override
    async def find(self, owner: str, id_: str) -> Job | None:
        rows = await self._rows("SELECT * FROM jobs WHERE id = %s AND owner = %s", (id_, owner))
        return read_job(rows[0]) if rows else None

    @override
    async def recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        sql = f"SELECT {LISTED} FROM jobs WHERE owner = %s ORDER BY created DESC, key DESC LIMIT %s"
        return tuple(read_job(row) for row in await self._rows(sql, (owner, limit)))

    @override
    async def entries(self, id_: str, after: int, limit: int) -> tuple[Entry, ...]:
        return tuple(read_entry(row) for row in await self._rows(_ENTRIES, (id_, after, limit)))

    @override
    async def text(self, id_: str) -> str:
        return "".join(row["text"] for row in await self._rows(_TEXT, (id_, Kind.TEXT)))

    @override
    async def send(self, letter: Letter) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_SEND, (letter.wish, clean(letter.text), letter.job))

    @override
    async def collect(self, server: str) -> tuple[Letter, ...]:
        rows = sorted(await self._rows(_COLLECT, (server,)), key=lambda row: int(row["key"]))
        return tuple(Letter(row["id"], Wish(row["wish"]), row["text"]) for row in rows)

    @override
    async def beat(self, server: str) -> None:
        async with (await self.database()).transaction() as db:
            await db.execute(_BEAT.encode(), (server,))

    @override
    async def unfinished(self) -> Mapping[str, float]:
        return {row["server"]: float(row["ago"]) for row in await self._rows(_UNFINISHED, ())}

    @override
    async def lose(self, server: str, at: float, error: Facts) -> int:
        facts = {"kind": Kind.STATE, "state": State.LOST, "error": json_text(error)}
        async with (await self.database()).transaction() as db:
            lost = await db.execute(_LOSE, {"server": server, "at": at, **facts})
            await db.execute("DELETE FROM servers WHERE id = %s", (server,))
            return lost.rowcount

    @override
    async def sweep(self, before: float) -> int:
        async with (await self.database()).transaction() as db:
            await db.execute(
                "DELETE FROM servers WHERE seen < %s "
                "AND id NOT IN (SELECT server FROM jobs WHERE ended IS NULL)",
                (before,),
            )
            return (await db.execute("DELETE FROM jobs WHERE ended < %s", (before,))).rowcount

    async def _rows(self, sql: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
        async with (await self.database()).transaction() as db:
            return await (await db.execute(sql.encode(), values)).fetchall()


def _row(record: Record) -> dict[str, Any]:
    columns = [list(column) for column in zip(*map(entry_row, record.entries), strict=True)]
    names = ("sequences", "times", "kinds", "texts")
    return job_row(record.job) | dict(zip(names, columns or [[], [], [], []], strict=True))
