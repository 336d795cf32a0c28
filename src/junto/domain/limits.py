"""What may be asked and spent: the data, and what keeps count of it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Rate:
    """How much may be asked within any stretch of so many seconds."""

    requests: int = 50
    tokens: int = 100_000
    seconds: float = 60


@dataclass(frozen=True, slots=True)
class Taken:
    """A place within a rate, for as many tokens as a call was thought to take."""

    key: str
    id: str


class RateLimiter(Protocol):
    """Hands out places within a rate; no two callers ever get the same one."""

    async def take(self, key: str, tokens: int, rate: Rate) -> Taken | float:
        """Return a place, or the seconds after which there may be one."""
        ...

    async def settle(self, taken: Taken, tokens: int) -> None:
        """Say how many tokens the call took in truth."""
        ...


class Period(StrEnum):
    """How long a budget lasts before it begins anew."""

    DAY = "day"
    MONTH = "month"
    EVER = "ever"

    def stretch(self, now: datetime) -> str:
        """Return a name for the stretch of time that `now` falls into."""
        return now.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "ever": "ever"}[self.value])


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody's budget in US dollars: a caller's, a model's, everybody's."""

    key: str
    limit: Decimal
    period: Period = Period.MONTH


@dataclass(frozen=True, slots=True)
class Reserved:
    """Money set aside, in the stretch of time in which that was done."""

    account: Account
    stretch: str
    amount: Decimal


class Ledger(Protocol):
    """Keeps what was spent; no two calls can ever set the same money aside."""

    async def reserve(self, account: Account, amount: Decimal) -> Reserved | Decimal:
        """Set `amount` aside, or return how much is left instead."""
        ...

    async def settle(self, reserved: Reserved, amount: Decimal) -> None:
        """Say what the call cost in truth."""
        ...

    async def spent(self, account: Account) -> Decimal:
        """Return what is spent or set aside in the stretch of time that it is now."""
        ...


class Accounts(Protocol):
    """Sums of money by account and stretch of time, in billionths of a dollar.

    Whole numbers are added up without rounding, wherever they are kept.
    """

    async def take(self, account: Account, stretch: str, amount: int) -> int | None:
        """Look and add in one step; what is beyond the limit is not added: return the sum."""
        ...

    async def change(self, account: Account, stretch: str, difference: int) -> None:
        """Add to a sum, or take from it, whatever the limit."""
        ...

    async def read(self, account: Account, stretch: str) -> int:
        """Return a sum."""
        ...
