"""What a run may cost: reserved in the budget before it starts, settled when it has ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from junto.agent.options import RunOptions
from junto.domain.completions import Usage
from junto.domain.errors import BudgetExceededError, JuntoError
from junto.domain.limits import Budget, BudgetReservation
from junto.domain.models import Price
from junto.telemetry.logs import Log

_log = Log.get("agent")

# About what the first turn of Claude Code costs. It checks its limit between turns only, so a run
# that is given less would overdraw.
MIN_RUN_USD = Decimal("0.10")


@dataclass(frozen=True, slots=True)
class ReservedRun:
    """The amount that a run may cost, and its reservations; no amount without a budget."""

    amount: Decimal | None = None
    reservations: tuple[BudgetReservation, ...] = ()

    def limit_options(self, options: RunOptions) -> RunOptions:
        """Return the options with a cap, so that Claude Code stops before it overdraws."""
        if self.amount is None:
            return options
        return replace(options, max_budget_usd=float(self.amount))


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Reserves and settles the cost of runs."""

    budget: Budget
    find_price: Callable[[str], Price | None]

    async def reserve(self, max_usd: float | None) -> ReservedRun:
        """Reserve the cap of a run, or all that is left if it has none.

        Raises:
            BudgetExceededError: the budget has less left.
        """
        left = await self.budget.read_left()
        if left is None:
            return ReservedRun()
        if max_usd is None and left < MIN_RUN_USD:
            raise BudgetExceededError(
                f"A run needs a budget of at least {MIN_RUN_USD} USD, and {left:.4f} USD is left. "
                "A smaller maxBudgetUsd is accepted; the last turn of a run can exceed it."
            )
        amount = left if max_usd is None else Decimal(str(max_usd))
        advice = "Pass a smaller maxBudgetUsd."
        return ReservedRun(amount, await self.budget.reserve(amount, "The run", advice))

    async def settle(
        self, run: ReservedRun, cost: float | None, usage_by_model: Mapping[str, Usage]
    ) -> None:
        """Replace the reserved amount by the cost that Claude Code reports, or by an estimate."""
        amount = self._estimate(run, usage_by_model) if cost is None else Decimal(str(cost))
        try:
            await self.budget.settle(run.reservations, amount)
        except JuntoError as error:  # the run is complete; the reservation stays
            _log.warning("budget not settled", model="claude-code", reason=error.message)

    def _estimate(self, run: ReservedRun, usage_by_model: Mapping[str, Usage]) -> Decimal:
        """Return the cost of the answers that a killed run got; if unknown, all that it could."""
        total = Decimal(0)
        for model, usage in usage_by_model.items():
            price = self.find_price(model)
            if price is None:
                return run.amount or total
            total += price.cost(usage)
        return total
