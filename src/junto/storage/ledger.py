"""Budgets: money is set aside and settled in accounts, wherever those are kept."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from junto.domain.limits import Account, Accounts, Reserved
from junto.storage.money import dollars, nano
from junto.work.tasks import begun, surely


def _today() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class KeptLedger:
    """Keeps what was spent, for all who share the accounts."""

    accounts: Accounts
    now: Callable[[], datetime] = _today

    async def reserve(self, account: Account, amount: Decimal) -> Reserved | Decimal:
        """Set `amount` aside, or return how much is left instead."""
        asking = begun(self._reserved(account, amount))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(self._give_back)
            raise

    async def settle(self, reserved: Reserved, amount: Decimal) -> None:
        """Say what the call cost in truth."""
        await surely(self._settled(reserved, amount))

    async def spent(self, account: Account) -> Decimal:
        """Return what is spent or set aside in the stretch of time that it is now."""
        return dollars(await self.accounts.read(account, self._stretch(account)))

    async def _reserved(self, account: Account, amount: Decimal) -> Reserved | Decimal:
        stretch = self._stretch(account)
        spent = await self.accounts.take(account, stretch, nano(amount))
        if spent is None:
            return Reserved(account, stretch, amount)
        return max(Decimal(0), account.limit - dollars(spent))

    async def _settled(self, reserved: Reserved, amount: Decimal) -> None:
        difference = nano(amount) - nano(reserved.amount)
        await self.accounts.change(reserved.account, reserved.stretch, difference)

    def _give_back(self, asking: "asyncio.Task[Reserved | Decimal]") -> None:
        """Give back what was set aside for somebody who did not wait for it."""
        if not asking.cancelled() and not asking.exception():
            outcome = asking.result()
            if isinstance(outcome, Reserved):
                begun(self._settled(outcome, Decimal(0)))

    def _stretch(self, account: Account) -> str:
        return account.period.stretch(self.now())
