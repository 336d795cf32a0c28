"""Spending no more than was allowed: money is set aside before a call and settled after it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal

from typing_extensions import override

from junto.domain.errors import BudgetExceededError, JuntoError
from junto.domain.estimates import question_tokens
from junto.domain.limits import Account, Ledger, Reserved
from junto.domain.prices import Price
from junto.domain.questions import Event, Question, Usage
from junto.providers.pipeline.metering import Meter
from junto.providers.provider import Provider
from junto.telemetry.logs import Log

_log = Log.of("providers")


@dataclass(frozen=True, slots=True)
class Budgeted(Provider):
    """Asks only if every account can pay for the longest answer; what is not known is not paid."""

    inner: Provider
    ledger: Ledger
    accounts: Sequence[Account]
    price: Price | None
    model_id: str

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        if not self.accounts:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    yield event
            return
        price = self._price()
        most = question_tokens(question)
        asked = most - question.max_tokens
        reserved = await self._reserve(
            price.cost(Usage(input_tokens=asked, output_tokens=question.max_tokens))
        )
        meter = Meter(question)
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    meter.hears(event)
                    yield event
        finally:
            try:
                await self._settle(reserved, price.cost(meter.usage))
            except JuntoError as error:  # the answer is there; the money stays set aside
                _log.warning("budget not settled", model=self.model_id, reason=error.message)

    def _price(self) -> Price:
        if self.price is None:
            raise BudgetExceededError(
                f"The price of {self.model_id} is not known, so it cannot be asked on a budget. "
                "Set its price, or ask a model whose price is known."
            )
        return self.price

    async def _reserve(self, amount: Decimal) -> list[Reserved]:
        reserved: list[Reserved] = []
        try:
            for account in self.accounts:
                outcome = await self.ledger.reserve(account, amount)
                reserved.append(_granted(account, amount, outcome))
        except BaseException:
            await self._settle(reserved, Decimal(0))
            raise
        return reserved

    async def _settle(self, reserved: Sequence[Reserved], amount: Decimal) -> None:
        for each in reserved:
            await self.ledger.settle(each, amount)


def _granted(account: Account, amount: Decimal, outcome: Reserved | Decimal) -> Reserved:
    if isinstance(outcome, Reserved):
        return outcome
    raise BudgetExceededError(
        f"The answer may cost {amount:.4f} USD, and {account.key} has {outcome:.4f} of "
        f"{account.limit} USD left ({account.period}). Ask for a shorter answer, or another model."
    )
