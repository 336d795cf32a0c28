"""The PostgreSQL stores of usage totals and budget accounts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from junto.domain.limits import BudgetAccount, BudgetAccountStore
from junto.domain.usage import UsageDimension, UsageGroupKey, UsageKey, UsageStore, UsageTotals
from junto.storage.postgres.database import PostgresDatabase
from junto.storage.usage_rows import (
    USAGE_COLUMNS,
    USAGE_INCREMENTS,
    USAGE_KEY_COLUMNS,
    build_totals_query,
    decode_totals,
    encode_usage,
)
from junto.storage.values import to_nanodollars

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_UPSERT_USAGE = (
    f"INSERT INTO usage ({', '.join(USAGE_COLUMNS)}) "
    f"VALUES ({', '.join(f'%({name})s' for name in USAGE_COLUMNS)}) "
    f"ON CONFLICT ({', '.join(USAGE_KEY_COLUMNS)}) DO UPDATE SET {USAGE_INCREMENTS}"
)
_USAGE_FILTER = (
    "begun >= %(since)s AND begun < %(until)s AND (%(caller)s::text IS NULL OR caller = %(caller)s)"
)
# The row must exist before it can be locked.
_ENSURE_ACCOUNT = (
    "INSERT INTO accounts (key, stretch, spent) VALUES (%s, %s, 0) ON CONFLICT DO NOTHING"
)
_ADD_SPENT = "UPDATE accounts SET spent = spent + %s WHERE key = %s AND stretch = %s"
_SELECT_SPENT = "SELECT spent FROM accounts WHERE key = %s AND stretch = %s"


@dataclass(frozen=True, slots=True)
class PostgresUsage(UsageStore):
    """A store of usage totals in PostgreSQL."""

    database: Callable[[], Awaitable[PostgresDatabase]]

    @override
    async def add(self, totals: Mapping[UsageKey, UsageTotals]) -> None:
        async with (await self.database()).transaction() as db, db.cursor() as cursor:
            await cursor.executemany(_UPSERT_USAGE.encode(), encode_usage(totals))

    @override
    async def load_totals(
        self, by: Sequence[UsageDimension], since: float, until: float, caller: str | None = None
    ) -> dict[UsageGroupKey, UsageTotals]:
        values = {"since": since, "until": until, "caller": caller}
        async with (await self.database()).transaction() as db:
            rows = await (
                await db.execute(build_totals_query(by, _USAGE_FILTER).encode(), values)
            ).fetchall()
        return decode_totals(rows, by)

    @override
    async def delete_expired(self, before: float) -> int:
        async with (await self.database()).transaction() as db:
            return (await db.execute("DELETE FROM usage WHERE begun < %s", (before,))).rowcount


@dataclass(frozen=True, slots=True)
class PostgresBudgetAccounts(BudgetAccountStore):
    """Budget accounts in PostgreSQL. A row lock makes check and reservation atomic."""

    database: Callable[[], Awaitable[PostgresDatabase]]

    @override
    async def reserve(self, account: BudgetAccount, window: str, amount: int) -> int | None:
        account_key = (account.key, window)
        async with (await self.database()).transaction() as db:
            await db.execute(_ENSURE_ACCOUNT, account_key)
            spent = await _read_spent(db, f"{_SELECT_SPENT} FOR UPDATE", account_key)
            if spent + amount > to_nanodollars(account.limit):
                return spent
            await db.execute(_ADD_SPENT, (amount, *account_key))
            return None

    @override
    async def adjust(self, account: BudgetAccount, window: str, difference: int) -> None:
        account_key = (account.key, window)
        async with (await self.database()).transaction() as db:
            await db.execute(_ENSURE_ACCOUNT, account_key)
            await db.execute(_ADD_SPENT, (difference, *account_key))

    @override
    async def read(self, account: BudgetAccount, window: str) -> int:
        async with (await self.database()).transaction() as db:
            return await _read_spent(db, _SELECT_SPENT, (account.key, window))


async def _read_spent(db: "Connection", sql: str, account_key: tuple[str, str]) -> int:
    row = await (await db.execute(sql.encode(), account_key)).fetchone()
    return int(row["spent"]) if row else 0
