"""What a running Junto keeps count of: numbers, lasting sums, and money."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from junto.app.memory import Stores
from junto.domain.errors import JuntoError
from junto.domain.limits import Account, Accounts, Ledger
from junto.settings.tree import Settings
from junto.storage.lazily import Lazily
from junto.storage.ledger import KeptLedger
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.telemetry.reports import UsageReports
from junto.telemetry.usage import UsageBook
from junto.work.tasks import beside

_log = Log.of("usage")

# What is noted in between is lost if the process is killed.
_PAUSE = 1.0
_AFTER_FAILURE = 60.0
_SWEEP_EVERY = 3600.0
_FAREWELL = 2.0


@dataclass(frozen=True, slots=True)
class Counting:
    """Everything that keeps count."""

    metrics: Metrics
    book: UsageBook
    ledger: Ledger
    reports: UsageReports
    retention: float

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Write down what was noted, again and again."""
        async with beside(self._written()):
            yield

    async def close(self) -> None:
        """Write down what is left, unless that takes long: nobody should wait for numbers."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await self.book.flush()

    async def _written(self) -> None:
        swept = -math.inf  # the clock may have begun just now
        while True:
            await self.book.noted.wait()
            # Whoever cannot be reached is not asked every second; others wait for the way there.
            await asyncio.sleep(_AFTER_FAILURE if self.book.failing else _PAUSE)
            await self.book.flush()
            if self.retention and time.monotonic() - swept > _SWEEP_EVERY:
                swept = time.monotonic()
                await self._swept()

    async def _swept(self) -> None:
        try:
            gone = await self.reports.store.sweep(time.time() - self.retention)
        except JuntoError as error:  # the next hour may be better
            _log.warning("usage not swept", reason=error.message)
        else:
            _log.debug("usage swept", deleted=gone)


def counting_of(settings: Settings, stores: Stores, stack: AsyncExitStack) -> Counting:
    """Return what keeps count; nothing is opened before it is used."""
    ledger = KeptLedger(_accounts(settings, stores, stack))
    book = UsageBook(stores.usage if settings.usage.enabled else None)
    return Counting(
        metrics=Metrics(),
        book=book,
        ledger=ledger,
        reports=UsageReports(stores.usage, book, ledger, accounts_of(settings)),
        retention=settings.usage.retention,
    )


def _accounts(settings: Settings, stores: Stores, stack: AsyncExitStack) -> Accounts:
    if settings.redis.url is None:
        return stores.accounts
    from junto.storage.redis_accounts import RedisAccounts
    from junto.storage.redis_server import connected

    url = settings.redis.url.get_secret_value()
    return RedisAccounts(Lazily(lambda: connected(url), stack))


def accounts_of(settings: Settings) -> tuple[Account, ...]:
    """Return the budgets that were set."""
    budget = settings.budget
    return () if budget.limit is None else (Account("all", budget.limit, budget.period),)
