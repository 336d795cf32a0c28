"""The SQLite stores of usage totals and budget accounts."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.limits import BudgetAccount, BudgetAccountStore
from junto.domain.usage import UsageDimension, UsageGroupKey, UsageKey, UsageStore, UsageTotals
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.usage_rows import (
    USAGE_COLUMNS,
    USAGE_INCREMENTS,
    USAGE_KEY_COLUMNS,
    build_totals_query,
    decode_totals,
    encode_usage,
)
from junto.storage.values import to_nanodollars

_UPSERT_USAGE = (
    f"INSERT INTO usage ({', '.join(USAGE_COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in USAGE_COLUMNS)}) "
    f"ON CONFLICT ({', '.join(USAGE_KEY_COLUMNS)}) DO UPDATE SET {USAGE_INCREMENTS}"
)
_USAGE_FILTER = "begun >= :since AND begun < :until AND (:caller IS NULL OR caller = :caller)"
_SELECT_SPENT = "SELECT spent FROM accounts WHERE key = ? AND stretch = ?"
_ADD_SPENT = (
    "INSERT INTO accounts (key, stretch, spent) VALUES (?, ?, ?) "
    "ON CONFLICT (key, stretch) DO UPDATE SET spent = spent + excluded.spent"
)


@dataclass(frozen=True, slots=True)
class SqliteUsage(UsageStore):
    """A store of usage totals in a SQLite file."""

    database: Callable[[], Awaitable[SqliteDatabase]]

    @override
    async def add(self, totals: Mapping[UsageKey, UsageTotals]) -> None:
        rows = encode_usage(totals)
        await (await self.database()).write(lambda db: db.executemany(_UPSERT_USAGE, rows))

    @override
    async def load_totals(
        self, by: Sequence[UsageDimension], since: float, until: float, caller: str | None = None
    ) -> dict[UsageGroupKey, UsageTotals]:
        values = {"since": since, "until": until, "caller": caller}
        sql = build_totals_query(by, _USAGE_FILTER)
        rows = await (await self.database()).read(lambda db: db.execute(sql, values).fetchall())
        return decode_totals(rows, by)

    @override
    async def delete_expired(self, before: float) -> int:
        sql = "DELETE FROM usage WHERE begun < ?"
        return await (await self.database()).write(lambda db: db.execute(sql, (before,)).rowcount)


@dataclass(frozen=True, slots=True)
class SqliteBudgetAccounts(BudgetAccountStore):
    """Budget accounts in a SQLite file. The write lock makes check and reservation atomic."""

    database: Callable[[], Awaitable[SqliteDatabase]]

    @override
    async def reserve(self, account: BudgetAccount, window: str, amount: int) -> int | None:
        def reserve(db: sqlite3.Connection) -> int | None:
            spent = _read_spent(db, account, window)
            if spent + amount > to_nanodollars(account.limit):
                return spent
            db.execute(_ADD_SPENT, (account.key, window, amount))
            return None

        return await (await self.database()).write(reserve)

    @override
    async def adjust(self, account: BudgetAccount, window: str, difference: int) -> None:
        values = (account.key, window, difference)
        await (await self.database()).write(lambda db: db.execute(_ADD_SPENT, values))

    @override
    async def read(self, account: BudgetAccount, window: str) -> int:
        return await (await self.database()).read(lambda db: _read_spent(db, account, window))


def _read_spent(db: sqlite3.Connection, account: BudgetAccount, window: str) -> int:
    row = db.execute(_SELECT_SPENT, (account.key, window)).fetchone()
    return int(row["spent"]) if row else 0
