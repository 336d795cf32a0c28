"""Budgets: the maximum cost of a call is reserved before it, and settled after it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.completions import Event, Question, Usage
from junto.domain.errors import BudgetExceededError, JuntoError
from junto.domain.limits import Budget, BudgetAccount, Ledger
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
        budget = Budget(self.ledger, self.accounts)
        reservations = await budget.reserve(
            price.cost(Usage(input_tokens=input_tokens, output_tokens=question.max_tokens)),
            "The answer",
            "Ask for a shorter answer, or another model.",
        )
        meter = UsageMeter(question)
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    meter.record(event)
                    yield event
        finally:
            try:
                await budget.settle(reservations, price.cost(meter.usage))
            except JuntoError as error:  # the answer is complete; the reservation stays
                _log.warning("budget not settled", model=self.model_id, reason=error.message)

    def _require_price(self) -> Price:
        if self.price is None:
            raise BudgetExceededError(
                f"The price of {self.model_id} is not known, so it cannot be asked on a budget. "
                "Set its price, or ask a model whose price is known."
            )
        return self.price
