"""Sums of money in PostgreSQL."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from junto.domain.limits import Account, Accounts
from junto.storage.money import nano
from junto.storage.postgres.database import Database

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

# The row must be there before it can be locked.
_MADE = "INSERT INTO accounts (key, stretch, spent) VALUES (%s, %s, 0) ON CONFLICT DO NOTHING"
_CHANGE = "UPDATE accounts SET spent = spent + %s WHERE key = %s AND stretch = %s"
_READ = "SELECT spent FROM accounts WHERE key = %s AND stretch = %s"


@dataclass(frozen=True, slots=True)
class PostgresAccounts(Accounts):
    """Keeps sums on a server; whoever looks in order to take holds the row."""

    database: Callable[[], Awaitable[Database]]

    @override
    async def take(self, account: Account, stretch: str, amount: int) -> int | None:
        place = (account.key, stretch)
        async with (await self.database()).transaction() as db:
            await db.execute(_MADE, place)
            spent = await _spent(db, f"{_READ} FOR UPDATE", place)
            if spent + amount > nano(account.limit):
                return spent
            await db.execute(_CHANGE, (amount, *place))
            return None

    @override
    async def change(self, account: Account, stretch: str, difference: int) -> None:
        place = (account.key, stretch)
        async with (await self.database()).transaction() as db:
            await db.execute(_MADE, place)
            await db.execute(_CHANGE, (difference, *place))

    @override
    async def read(self, account: Account, stretch: str) -> int:
        async with (await self.database()).transaction() as db:
            return await _spent(db, _READ, (account.key, stretch))


async def _spent(db: "Connection", sql: str, place: tuple[str, str]) -> int:
    found = await (await db.execute(sql.encode(), place)).fetchone()
    return int(found["spent"]) if found else 0
