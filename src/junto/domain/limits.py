"""Rate limits and budgets, and the protocols that enforce them."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The maximum number of requests and tokens within any window of `seconds`."""

    requests: int = 50
    tokens: int = 100_000
    seconds: float = 60


@dataclass(frozen=True, slots=True)
class RateReservation:
    """A slot within a rate limit, reserved for a call's estimated tokens."""

    key: str
    id: str


class RateLimiter(Protocol):
    """A rate limiter. Concurrent callers never get the same slot."""

    async def acquire(self, key: str, tokens: int, rate: RateLimit) -> RateReservation | float:
        """Return a reservation, or the seconds to wait before trying again."""
        ...

    async def settle(self, reservation: RateReservation, tokens: int) -> None:
        """Replace the reserved tokens by those that the call actually used."""
        ...


class Period(StrEnum):
    """How long a budget lasts before it resets."""

    DAY = "day"
    MONTH = "month"
    EVER = "ever"

    def format_window(self, now: datetime) -> str:
        """Return the name of the window that contains `now`, such as `2026-11`."""
        return now.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "ever": "ever"}[self.value])


@dataclass(frozen=True, slots=True)
class BudgetAccount:
    """A budget in US dollars, for a caller, for a model or for everyone together."""

    key: str
    limit: Decimal
    period: Period = Period.MONTH


@dataclass(frozen=True, slots=True)
class BudgetReservation:
    """An amount reserved in an account, in the window of the time of reservation."""

    account: BudgetAccount
    window: str
    amount: Decimal


class Ledger(Protocol):
    """A ledger of spending. Concurrent calls never reserve the same money."""

    async def reserve(self, account: BudgetAccount, amount: Decimal) -> BudgetReservation | Decimal:
        """Reserve `amount`, or return the remaining budget if that is too little."""
        ...

    async def settle(self, reservation: BudgetReservation, amount: Decimal) -> None:
        """Replace the reserved amount by the actual cost of the call."""
        ...

    async def read_spent(self, account: BudgetAccount) -> Decimal:
        """Return the amount spent or reserved in the current window."""
        ...


class BudgetAccountStore(Protocol):
    """A store of amounts by account and window, in nanodollars.

    Integers are added up without rounding in every database.
    """

    async def reserve(self, account: BudgetAccount, window: str, amount: int) -> int | None:
        """Add `amount` atomically, or return the current sum if that exceeds the limit."""
        ...

    async def adjust(self, account: BudgetAccount, window: str, difference: int) -> None:
        """Add `difference`, which may be negative, regardless of the limit."""
        ...

    async def read(self, account: BudgetAccount, window: str) -> int:
        """Return the amount spent or reserved in a window."""
        ...
