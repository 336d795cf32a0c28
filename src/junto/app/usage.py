"""Builds metrics, usage totals and budgets."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from junto.app.storage import Stores
from junto.domain.errors import JuntoError
from junto.domain.limits import BudgetAccount, BudgetAccountStore, Ledger
from junto.runtime.lazy import Lazy
from junto.runtime.tasks import background_task
from junto.settings.schema import Settings
from junto.storage.budget_ledger import BudgetLedger
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage_recorder import UsageRecorder
from junto.telemetry.usage_reports import UsageReports

_log = Log.get("usage")

# Usage recorded since the last flush is lost if the process is killed.
_FLUSH_INTERVAL_SECONDS = 1.0
_RETRY_DELAY_SECONDS = 60.0
_SWEEP_INTERVAL_SECONDS = 3600.0
_FINAL_FLUSH_TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class UsageTracker:
    """Metrics, usage recorder, usage reports and the budget ledger."""

    metrics: Metrics
    recorder: UsageRecorder
    ledger: Ledger
    reports: UsageReports
    retention_seconds: float

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Flush recorded usage to the store periodically."""
        async with background_task(self._flush_periodically()):
            yield

    async def close(self) -> None:
        """Flush what is left, for a short time at most: shutdown must not wait for statistics."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FINAL_FLUSH_TIMEOUT_SECONDS):
                await self.recorder.flush()

    async def _flush_periodically(self) -> None:
        swept = -math.inf  # the monotonic clock may start at 0
        while True:
            await self.recorder.pending.wait()
            # After a failure wait longer: an unreachable database is not tried every second.
            await asyncio.sleep(
                _RETRY_DELAY_SECONDS if self.recorder.is_failing else _FLUSH_INTERVAL_SECONDS
            )
            await self.recorder.flush()
            if self.retention_seconds and time.monotonic() - swept > _SWEEP_INTERVAL_SECONDS:
                swept = time.monotonic()
                await self._sweep()

    async def _sweep(self) -> None:
        try:
            gone = await self.reports.store.delete_expired(time.time() - self.retention_seconds)
        except JuntoError as error:  # the next attempt is in an hour
            _log.warning("usage not swept", reason=error.message)
        else:
            _log.debug("usage swept", deleted=gone)


def build_usage_tracker(settings: Settings, stores: Stores, stack: AsyncExitStack) -> UsageTracker:
    """Return the usage tracker; its store is opened on first use."""
    ledger = BudgetLedger(_build_account_store(settings, stores, stack))
    book = UsageRecorder(stores.usage if settings.usage.enabled else None)
    return UsageTracker(
        metrics=Metrics(),
        recorder=book,
        ledger=ledger,
        reports=UsageReports(stores.usage, book, ledger, build_accounts(settings)),
        retention_seconds=settings.usage.retention,
    )


def _build_account_store(
    settings: Settings, stores: Stores, stack: AsyncExitStack
) -> BudgetAccountStore:
    if settings.redis.url is None:
        return stores.accounts
    from junto.storage.redis_client import open_redis
    from junto.storage.redis_limits import RedisBudgetAccounts

    url = settings.redis.url.get_secret_value()
    return RedisBudgetAccounts(Lazy(lambda: open_redis(url), stack))


def build_accounts(settings: Settings) -> tuple[BudgetAccount, ...]:
    """Return the accounts of the configured budgets."""
    budget = settings.budget
    return () if budget.limit is None else (BudgetAccount("all", budget.limit, budget.period),)
