"""Spending no more than was allowed: money is set aside before a call and settled after it."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from typing_extensions import override

from junto.domain.errors import BudgetExceededError, JuntoError
from junto.domain.estimates import CHARACTERS_PER_TOKEN, question_tokens
from junto.domain.limits import Account, Ledger, Reserved
from junto.domain.prices import Price
from junto.domain.questions import (
    Event,
    Finished,
    Question,
    TextDelta,
    ThinkingDelta,
    ToolCallMade,
    Usage,
)
from junto.providers.provider import Provider
from junto.telemetry.logs import Log

_log = Log.of("providers")


def _today() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class LocalLedger:
    """Keeps accounts within this process."""

    now: Callable[[], datetime] = _today
    _spent: dict[tuple[str, str], Decimal] = field(default_factory=dict)

    async def reserve(self, account: Account, amount: Decimal) -> Reserved | Decimal:
        """Set `amount` aside, or return how much is left instead."""
        # Nothing is awaited between looking and taking, so nobody can come between.
        stretch = account.period.stretch(self.now())
        spent = self._spent.get((account.key, stretch), Decimal(0))
        if spent + amount > account.limit:
            return max(Decimal(0), account.limit - spent)
        self._spent[account.key, stretch] = spent + amount
        return Reserved(account, stretch, amount)

    async def settle(self, reserved: Reserved, amount: Decimal) -> None:
        """Say what the call cost in truth."""
        self._spent[reserved.account.key, reserved.stretch] += amount - reserved.amount


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
        heard = 0
        used: Usage | None = None
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    if isinstance(event, TextDelta | ThinkingDelta):
                        heard += len(event.text)
                    elif isinstance(event, ToolCallMade):
                        heard += len(event.call.name) + len(str(event.call.arguments))
                    elif isinstance(event, Finished):
                        used = event.answer.usage
                    yield event
        finally:
            # A call that broke off after it had begun, or whose provider does not count, has cost
            # something too, about this much.
            if heard and not (used and used.output_tokens):
                used = Usage(input_tokens=asked, output_tokens=heard // CHARACTERS_PER_TOKEN + 1)
            try:
                await self._settle(reserved, price.cost(used or Usage()))
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
