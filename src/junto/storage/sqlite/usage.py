"""What was used, in SQLite."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.usage import Amount, Dimension, Heading, Place, UsageStore
from junto.storage.sqlite.database import Database
from junto.storage.usage_rows import ADDED, COLUMNS, HEADINGS, breakdown, read_sums, usage_rows

_ADD = (
    f"INSERT INTO usage ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in COLUMNS)}) "
    f"ON CONFLICT ({', '.join(HEADINGS)}) DO UPDATE SET {ADDED}"
)
_BETWEEN = "begun >= :since AND begun < :until AND (:caller IS NULL OR caller = :caller)"


@dataclass(frozen=True, slots=True)
class SqliteUsage(UsageStore):
    """Keeps sums in a file."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def add(self, sums: Mapping[Heading, Amount]) -> None:
        rows = usage_rows(sums)
        await (await self.database()).write(lambda db: db.executemany(_ADD, rows))

    @override
    async def sums(
        self, by: Sequence[Dimension], since: float, until: float, caller: str | None = None
    ) -> dict[Place, Amount]:
        values = {"since": since, "until": until, "caller": caller}
        sql = breakdown(by, _BETWEEN)
        rows = await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())
        return read_sums(rows, by)

    @override
    async def sweep(self, before: float) -> int:
        sql = "DELETE FROM usage WHERE begun < ?"
        return await (await self.database()).write(lambda db: db.execute(sql, (before,)).rowcount)
