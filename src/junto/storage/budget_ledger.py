"""The budget ledger, which reserves and settles amounts in any budget account store."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from junto.domain.limits import BudgetAccount, BudgetAccountStore, BudgetReservation
from junto.runtime.tasks import run_shielded, spawn
from junto.storage.values import from_nanodollars, to_nanodollars


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class BudgetLedger:
    """A ledger of spending, shared by all servers that use the same account store."""

    accounts: BudgetAccountStore
    now: Callable[[], datetime] = _utc_now

    async def reserve(self, account: BudgetAccount, amount: Decimal) -> BudgetReservation | Decimal:
        """Reserve `amount`, or return the remaining budget if that is too little."""
        task = spawn(self._reserve(account, amount))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(self._refund_abandoned)
            raise

    async def settle(self, reservation: BudgetReservation, amount: Decimal) -> None:
        """Replace the reserved amount by the actual cost of the call."""
        await run_shielded(self._settle(reservation, amount))

    async def read_spent(self, account: BudgetAccount) -> Decimal:
        """Return the amount spent or reserved in the current window."""
        return from_nanodollars(await self.accounts.read(account, self._current_window(account)))

    async def _reserve(
        self, account: BudgetAccount, amount: Decimal
    ) -> BudgetReservation | Decimal:
        window = self._current_window(account)
        spent = await self.accounts.reserve(account, window, to_nanodollars(amount))
        if spent is None:
            return BudgetReservation(account, window, amount)
        return max(Decimal(0), account.limit - from_nanodollars(spent))

    async def _settle(self, reservation: BudgetReservation, amount: Decimal) -> None:
        difference = to_nanodollars(amount) - to_nanodollars(reservation.amount)
        await self.accounts.adjust(reservation.account, reservation.window, difference)

    def _refund_abandoned(self, task: "asyncio.Task[BudgetReservation | Decimal]") -> None:
        """Refund a reservation whose caller was cancelled before it received it."""
        if not task.cancelled() and not task.exception():
            outcome = task.result()
            if isinstance(outcome, BudgetReservation):
                spawn(self._settle(outcome, Decimal(0)))

    def _current_window(self, account: BudgetAccount) -> str:
        return account.period.format_window(self.now())
