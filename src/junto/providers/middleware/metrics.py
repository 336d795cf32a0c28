"""Counting what models answer, what it takes, and how long."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal

from typing_extensions import override

from junto.domain.errors import JuntoError
from junto.domain.prices import Price
from junto.domain.questions import Event, Finished, Question
from junto.providers.pipeline.metering import Meter
from junto.providers.provider import Provider
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage import UsageBook


@dataclass(frozen=True, slots=True)
class Counters:
    """Who is told what models are asked: the numbers of this process, and the lasting sums."""

    metrics: Metrics
    book: UsageBook


@dataclass(frozen=True, slots=True)
class Measured(Provider):
    """Counts each request, its tokens, its time and its failure, under the model's own id.

    The answer is signed with that id too, whatever name its provider gave.
    """

    inner: Provider
    counters: Counters
    provider: str
    model_id: str
    # Asked late: prices come from a library that takes a while to import.
    price: Callable[[], Price | None]

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        started, meter = time.perf_counter(), Meter(question)
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    meter.hears(event)
                    if isinstance(event, Finished):
                        self._answered(meter, time.perf_counter() - started)
                        yield Finished(replace(event.answer, model=self.model_id))
                    else:
                        yield event
        except JuntoError as error:
            self.counters.metrics.model_failed(self.provider, error.code)
            raise
        finally:
            self._noted(question, meter)

    def _answered(self, meter: Meter, seconds: float) -> None:
        usage = meter.usage
        self.counters.metrics.model_answered(
            self.provider, self.model_id, usage.input_tokens, usage.output_tokens, seconds
        )

    def _noted(self, question: Question, meter: Meter) -> None:
        self.counters.book.model_asked(
            question.origin,
            (self.provider, self.model_id),
            meter.usage,
            self._cost(meter),
            answered=meter.answered,
        )

    def _cost(self, meter: Meter) -> Decimal | None:
        if not meter.begun:
            return Decimal(0)
        price = self.price()
        return price.cost(meter.usage) if price else None
