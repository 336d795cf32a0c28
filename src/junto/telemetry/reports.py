"""What was used in a stretch of time, broken down for a reader, and what is left of budgets."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from junto.domain.errors import InvalidInputError
from junto.domain.limits import Account, Ledger
from junto.domain.usage import Amount, Dimension, Place, UsageStore
from junto.telemetry.usage import STRETCH, UsageBook

_WINDOW = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}
TAKES = "today, a stretch such as 24h, 7d or 4w, or a day such as 2026-11-01"


class By(StrEnum):
    """What a report is broken down by."""

    DAY = "day"
    MODEL = "model"
    TOOL = "tool"
    CALLER = "caller"


_DIMENSIONS = {By.MODEL: Dimension.MODEL, By.TOOL: Dimension.TOOL, By.CALLER: Dimension.CALLER}


@dataclass(frozen=True, slots=True)
class Line:
    """What was used under one name."""

    name: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Standing:
    """How a budget stands."""

    account: Account
    spent: Decimal

    @property
    def left(self) -> Decimal:
        """Return what may still be spent."""
        return max(Decimal(0), self.account.limit - self.spent)


@dataclass(frozen=True, slots=True)
class UsageReports:
    """Tells what was used."""

    store: UsageStore
    book: UsageBook
    ledger: Ledger
    accounts: tuple[Account, ...]
    now: Callable[[], float] = time.time

    async def lines(self, by: By, since: float, caller: str | None = None) -> tuple[Line, ...]:
        """Return what was used since then: days in their order, anything else the most first.

        A model's calls are the questions that it got.
        """
        if by is By.DAY:
            return _days(await self._sums((Dimension.BEGUN,), since, caller), since, self.now())
        sums = await self._sums((_DIMENSIONS[by],), since, caller)
        if by is By.MODEL:  # calls of tools stand under none
            sums = {place: _asked(amount) for place, amount in sums.items() if place != ("",)}
        lines = [Line(str(name), amount) for (name,), amount in sums.items()]
        return tuple(sorted(lines, key=_weight, reverse=True))

    async def total(self, since: float, caller: str | None = None) -> Amount:
        """Return all that was used since then."""
        return (await self._sums((), since, caller)).get((), Amount())

    async def budgets(self) -> tuple[Standing, ...]:
        """Return how the budgets stand."""
        return tuple(
            [Standing(account, await self.ledger.spent(account)) for account in self.accounts]
        )

    async def _sums(
        self, by: tuple[Dimension, ...], since: float, caller: str | None
    ) -> Mapping[Place, Amount]:
        await self.book.flush()
        # What is kept is kept by stretches of time, and all of the first one counts; what is noted
        # in this very second belongs to the last.
        return await self.store.sums(by, since - since % STRETCH, self.now() + 1, caller)


def _days(sums: Mapping[Place, Amount], since: float, until: float) -> tuple[Line, ...]:
    """Return what was used by days of the local calendar, also those on which nothing was."""
    days: dict[date, Amount] = {}
    for (begun,), amount in sums.items():
        day = datetime.fromtimestamp(int(begun)).astimezone().date()
        days[day] = days.get(day, Amount()) + amount
    if not days:
        return ()
    first = max(min(days), datetime.fromtimestamp(since).astimezone().date())
    last = datetime.fromtimestamp(until).astimezone().date()
    every = [first + timedelta(days=count) for count in range((last - first).days + 1)]
    return tuple(Line(day.isoformat(), days.get(day, Amount())) for day in every)


def _asked(amount: Amount) -> Amount:
    return replace(amount, calls=amount.questions, failures=amount.unanswered)


def _weight(line: Line) -> tuple[Decimal, int, int, int]:
    amount = line.amount
    return amount.cost, amount.tokens, amount.questions, amount.calls


def beginning(window: str, now: float) -> float:
    """Return when a window that ends now has begun.

    Raises:
        InvalidInputError: it is none.
    """
    moment = datetime.fromtimestamp(now).astimezone()
    if window == "today":
        return moment.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    if match := _WINDOW.fullmatch(window):
        return now - int(match[1]) * _HOURS[match[2]] * 3600
    try:
        return datetime.combine(date.fromisoformat(window), datetime.min.time()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InvalidInputError(f"A window takes {TAKES}.") from None
