"""Rate limits and budgets, and the protocols that enforce them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from junto.domain.errors import BudgetExceededError


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


@dataclass(frozen=True, slots=True)
class Budget:
    """The accounts that pay for whatever costs money; without accounts, everything is allowed."""

    ledger: Ledger
    accounts: Sequence[BudgetAccount]

    async def reserve(
        self, amount: Decimal, purpose: str, advice: str
    ) -> tuple[BudgetReservation, ...]:
        """Reserve `amount` in every account.

        Raises:
            BudgetExceededError: an account has less left; nothing is reserved.
        """
        reservations: list[BudgetReservation] = []
        try:
            for account in self.accounts:
                outcome = await self.ledger.reserve(account, amount)
                reservations.append(
                    _require_reservation(
                        outcome, account, f"{purpose} may cost {amount:.4f} USD", advice
                    )
                )
        except BaseException:
            await self.settle(reservations, Decimal(0))
            raise
        return tuple(reservations)

    async def settle(self, reservations: Sequence[BudgetReservation], amount: Decimal) -> None:
        """Replace the reserved amounts by the actual cost."""
        for reservation in reservations:
            await self.ledger.settle(reservation, amount)

    async def read_left(self) -> Decimal | None:
        """Return the least amount that is left in an account, or None without accounts."""
        left = [
            max(Decimal(0), account.limit - await self.ledger.read_spent(account))
            for account in self.accounts
        ]
        return min(left, default=None)


def _require_reservation(
    outcome: BudgetReservation | Decimal, account: BudgetAccount, reason: str, advice: str
) -> BudgetReservation:
    if isinstance(outcome, BudgetReservation):
        return outcome
    raise BudgetExceededError(
        f"{reason}, and {account.key} has {outcome:.4f} of {account.limit} USD left "
        f"({account.period}). {advice}"
    )


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
