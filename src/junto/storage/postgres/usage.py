"""What was used, in PostgreSQL."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.usage import Amount, Dimension, Heading, Place, UsageStore
from junto.storage.postgres.database import Database
from junto.storage.usage_rows import ADDED, COLUMNS, HEADINGS, breakdown, read_sums, usage_rows

_ADD = (
    f"INSERT INTO usage ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(f'%({name})s' for name in COLUMNS)}) "
    f"ON CONFLICT ({', '.join(HEADINGS)}) DO UPDATE SET {ADDED}"
)
_BETWEEN = (
    "begun >= %(since)s AND begun < %(until)s AND (%(caller)s::text IS NULL OR caller = %(caller)s)"
)


@dataclass(frozen=True, slots=True)
class PostgresUsage(UsageStore):
    """Keeps sums on a server."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def add(self, sums: Mapping[Heading, Amount]) -> None:
        async with (await self.database()).transaction() as db, db.cursor() as cursor:
            await cursor.executemany(_ADD.encode(), usage_rows(sums))

    @override
    async def sums(
        self, by: Sequence[Dimension], since: float, until: float, caller: str | None = None
    ) -> dict[Place, Amount]:
        values = {"since": since, "until": until, "caller": caller}
        async with (await self.database()).transaction() as db:
            rows = await (await db.execute(breakdown(by, _BETWEEN).encode(), values)).fetchall()
        return read_sums(rows, by)

    @override
    async def sweep(self, before: float) -> int:
        async with (await self.database()).transaction() as db:
            return (await db.execute("DELETE FROM usage WHERE begun < %s", (before,))).rowcount
