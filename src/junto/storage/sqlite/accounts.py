"""Sums of money in SQLite."""

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.limits import Account, Accounts
from junto.storage.money import nano
from junto.storage.sqlite.database import Database

_READ = "SELECT spent FROM accounts WHERE key = ? AND stretch = ?"
_CHANGE = (
    "INSERT INTO accounts (key, stretch, spent) VALUES (?, ?, ?) "
    "ON CONFLICT (key, stretch) DO UPDATE SET spent = spent + excluded.spent"
)


@dataclass(frozen=True, slots=True)
class SqliteAccounts(Accounts):
    """Keeps sums in a file; its one writer looks and takes in one step."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def take(self, account: Account, stretch: str, amount: int) -> int | None:
        def take(db: sqlite3.Connection) -> int | None:
            spent = _spent(db, account, stretch)
            if spent + amount > nano(account.limit):
                return spent
            db.execute(_CHANGE, (account.key, stretch, amount))
            return None

        return await (await self.database()).write(take)

    @override
    async def change(self, account: Account, stretch: str, difference: int) -> None:
        values = (account.key, stretch, difference)
        await (await self.database()).write(lambda db: db.execute(_CHANGE, values))

    @override
    async def read(self, account: Account, stretch: str) -> int:
        return await (await self.database()).read(lambda db: _spent(db, account, stretch))


def _spent(db: sqlite3.Connection, account: Account, stretch: str) -> int:
    found = db.execute(_READ, (account.key, stretch)).fetchone()
    return int(found["spent"]) if found else 0
