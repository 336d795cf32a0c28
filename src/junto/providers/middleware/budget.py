"""Budgets: the maximum cost of a call is reserved before it, and settled after it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal

from typing_extensions import override

from junto.domain.completions import Event, Question, Usage
from junto.domain.errors import BudgetExceededError, JuntoError
from junto.domain.limits import BudgetAccount, BudgetReservation, Ledger
from junto.domain.models import Price
from junto.domain.token_estimates import estimate_question_tokens
from junto.providers.middleware.metrics import UsageMeter
from junto.providers.provider import Provider
from junto.telemetry.logs import Log

_log = Log.get("providers")


@dataclass(frozen=True, slots=True)
class Budgeted(Provider):
    """A provider that asks only if every account can pay for the longest possible answer.

    With a budget, a model of unknown price is refused.
    """

    inner: Provider
    ledger: Ledger
    accounts: Sequence[BudgetAccount]
    price: Price | None
    model_id: str

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        if not self.accounts:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    yield event
            return
        price = self._require_price()
        max_total_tokens = estimate_question_tokens(question)
        input_tokens = max_total_tokens - question.max_tokens
        reservations = await self._reserve(
            price.cost(Usage(input_tokens=input_tokens, output_tokens=question.max_tokens))
        )
        meter = UsageMeter(question)
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    meter.record(event)
                    yield event
        finally:
            try:
                await self._settle(reservations, price.cost(meter.usage))
            except JuntoError as error:  # the answer is complete; the reservation stays
                _log.warning("budget not settled", model=self.model_id, reason=error.message)

    def _require_price(self) -> Price:
        if self.price is None:
            raise BudgetExceededError(
                f"The price of {self.model_id} is not known, so it cannot be asked on a budget. "
                "Set its price, or ask a model whose price is known."
            )
        return self.price

    async def _reserve(self, amount: Decimal) -> list[BudgetReservation]:
        reservations: list[BudgetReservation] = []
        try:
            for account in self.accounts:
                outcome = await self.ledger.reserve(account, amount)
                reservations.append(_require_reservation(account, amount, outcome))
        except BaseException:
            await self._settle(reservations, Decimal(0))
            raise
        return reservations

    async def _settle(self, reserved: Sequence[BudgetReservation], amount: Decimal) -> None:
        for each in reserved:
            await self.ledger.settle(each, amount)


def _require_reservation(
    account: BudgetAccount, amount: Decimal, outcome: BudgetReservation | Decimal
) -> BudgetReservation:
    if isinstance(outcome, BudgetReservation):
        return outcome
    raise BudgetExceededError(
        f"The answer may cost {amount:.4f} USD, and {account.key} has {outcome:.4f} of "
        f"{account.limit} USD left ({account.period}). Ask for a shorter answer, or another model."
    )
