"""Usage reports for a time window, grouped by a dimension, and the status of budgets."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from junto.domain.errors import InvalidInputError
from junto.domain.limits import BudgetAccount, Ledger
from junto.domain.usage import UsageDimension, UsageGroupKey, UsageStore, UsageTotals
from junto.telemetry.usage_recorder import BUCKET_SECONDS, UsageRecorder

_WINDOW_PATTERN = re.compile(r"(\d{1,5})([hdw])")
_HOURS_PER_UNIT = {"h": 1, "d": 24, "w": 24 * 7}
WINDOW_FORMATS = "today, a stretch such as 24h, 7d or 4w, or a day such as 2026-11-01"


class GroupBy(StrEnum):
    """What a usage report is grouped by."""

    DAY = "day"
    MODEL = "model"
    TOOL = "tool"
    CALLER = "caller"


_DIMENSIONS = {
    GroupBy.MODEL: UsageDimension.MODEL,
    GroupBy.TOOL: UsageDimension.TOOL,
    GroupBy.CALLER: UsageDimension.CALLER,
}


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """The usage of one group, such as one model or one day."""

    name: str
    totals: UsageTotals


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """A budget and how much of it is spent."""

    account: BudgetAccount
    spent: Decimal

    @property
    def balance(self) -> Decimal:
        """Return the amount that may still be spent."""
        return max(Decimal(0), self.account.limit - self.spent)


@dataclass(frozen=True, slots=True)
class UsageReports:
    """Reports on recorded usage and budgets."""

    store: UsageStore
    recorder: UsageRecorder
    ledger: Ledger
    accounts: tuple[BudgetAccount, ...]
    now: Callable[[], float] = time.time

    async def group_usage(
        self, by: GroupBy, since: float, caller: str | None = None
    ) -> tuple[UsageGroup, ...]:
        """Return the usage since `since`: days in order, other groups by descending usage.

        For models, `calls` counts the requests to the model.
        """
        if by is GroupBy.DAY:
            return _group_by_day(
                await self._load_totals((UsageDimension.BUCKET_START,), since, caller),
                since,
                self.now(),
            )
        totals = await self._load_totals((_DIMENSIONS[by],), since, caller)
        if by is GroupBy.MODEL:  # tool calls have no model
            totals = {
                key: _count_questions_as_calls(group_totals)
                for key, group_totals in totals.items()
                if key != ("",)
            }
        groups = [UsageGroup(str(name), group_totals) for (name,), group_totals in totals.items()]
        return tuple(sorted(groups, key=_sort_key, reverse=True))

    async def get_total(self, since: float, caller: str | None = None) -> UsageTotals:
        """Return the total usage since `since`."""
        return (await self._load_totals((), since, caller)).get((), UsageTotals())

    async def list_budgets(self) -> tuple[BudgetStatus, ...]:
        """Return the status of every budget."""
        return tuple(
            [
                BudgetStatus(account, await self.ledger.read_spent(account))
                for account in self.accounts
            ]
        )

    async def _load_totals(
        self, by: tuple[UsageDimension, ...], since: float, caller: str | None
    ) -> Mapping[UsageGroupKey, UsageTotals]:
        await self.recorder.flush()
        # Usage is stored in time buckets: include all of the first one, and what was recorded in
        # the current second.
        return await self.store.load_totals(
            by, since - since % BUCKET_SECONDS, self.now() + 1, caller
        )


def _group_by_day(
    totals: Mapping[UsageGroupKey, UsageTotals], since: float, until: float
) -> tuple[UsageGroup, ...]:
    """Return the usage per local calendar day, including days without usage."""
    totals_by_day: dict[date, UsageTotals] = {}
    for (bucket_start,), bucket_totals in totals.items():
        day = datetime.fromtimestamp(int(bucket_start)).astimezone().date()
        totals_by_day[day] = totals_by_day.get(day, UsageTotals()) + bucket_totals
    if not totals_by_day:
        return ()
    first = max(min(totals_by_day), datetime.fromtimestamp(since).astimezone().date())
    last = datetime.fromtimestamp(until).astimezone().date()
    all_days = [first + timedelta(days=count) for count in range((last - first).days + 1)]
    return tuple(
        UsageGroup(day.isoformat(), totals_by_day.get(day, UsageTotals())) for day in all_days
    )


def _count_questions_as_calls(totals: UsageTotals) -> UsageTotals:
    return replace(totals, calls=totals.questions, failures=totals.unanswered)


def _sort_key(group: UsageGroup) -> tuple[Decimal, int, int, int]:
    totals = group.totals
    return totals.cost, totals.tokens, totals.questions, totals.calls


def parse_window_start(window: str, now: float) -> float:
    """Return the start of a time window that ends now, as a timestamp.

    Raises:
        InvalidInputError: `window` is not in one of the accepted formats.
    """
    local_now = datetime.fromtimestamp(now).astimezone()
    if window == "today":
        return local_now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    if match := _WINDOW_PATTERN.fullmatch(window):
        return now - int(match[1]) * _HOURS_PER_UNIT[match[2]] * 3600
    try:
        return datetime.combine(date.fromisoformat(window), datetime.min.time()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InvalidInputError(f"A window takes {WINDOW_FORMATS}.") from None
