"""Measure model calls: their usage, cost, duration and failures."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal

from typing_extensions import override

from junto.domain.completions import (
    AnswerEvent,
    Event,
    Question,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Usage,
)
from junto.domain.errors import JuntoError
from junto.domain.models import Price
from junto.domain.token_estimates import CHARACTERS_PER_TOKEN, estimate_question_tokens
from junto.providers.provider import Provider
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage_recorder import UsageRecorder


@dataclass(slots=True)
class UsageMeter:
    """A meter that derives the usage of one call from its events."""

    question: Question
    is_answered: bool = field(default=False, init=False)
    _output_chars: int = field(default=0, init=False)
    _reported_usage: Usage | None = field(default=None, init=False)

    def record(self, event: Event) -> None:
        """Record one event."""
        if isinstance(event, TextDelta | ThinkingDelta):
            self._output_chars += len(event.text)
        elif isinstance(event, ToolCallEvent):
            self._output_chars += len(event.call.name) + len(str(event.call.arguments))
        elif isinstance(event, AnswerEvent):
            self.is_answered, self._reported_usage = True, event.answer.usage

    @property
    def has_output(self) -> bool:
        """Return whether the model has sent any output; a call without output costs nothing."""
        return self.is_answered or self._output_chars > 0

    @property
    def usage(self) -> Usage:
        """Return the usage that the provider reports, or an estimate.

        The estimate is for answers that were cut off, and for providers that do not count tokens.
        """
        usage = self._reported_usage or Usage()
        if self._output_chars and not usage.output_tokens:
            input_tokens = estimate_question_tokens(self.question) - self.question.max_tokens
            output_tokens = self._output_chars // CHARACTERS_PER_TOKEN + 1
            return Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        return usage


@dataclass(frozen=True, slots=True)
class ModelTelemetry:
    """The recorders of model calls: metrics of this process, and persistent usage."""

    metrics: Metrics
    usage_recorder: UsageRecorder


@dataclass(frozen=True, slots=True)
class Measured(Provider):
    """A provider that records each call's tokens, duration and failure under the model's own id.

    The answer carries that id too, whatever name the provider reported.
    """

    inner: Provider
    telemetry: ModelTelemetry
    provider: str
    model_id: str
    # Called late: prices come from a library that is slow to import.
    get_price: Callable[[], Price | None]

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        started, meter = time.perf_counter(), UsageMeter(question)
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    meter.record(event)
                    if isinstance(event, AnswerEvent):
                        self._record_answer(meter, time.perf_counter() - started)
                        yield AnswerEvent(replace(event.answer, model=self.model_id))
                    else:
                        yield event
        except JuntoError as error:
            self.telemetry.metrics.record_model_error(self.provider, error.code)
            raise
        finally:
            self._record_usage(question, meter)

    def _record_answer(self, meter: UsageMeter, seconds: float) -> None:
        usage = meter.usage
        self.telemetry.metrics.record_model_answer(
            self.provider, self.model_id, usage.input_tokens, usage.output_tokens, seconds
        )

    def _record_usage(self, question: Question, meter: UsageMeter) -> None:
        self.telemetry.usage_recorder.record_model_call(
            question.origin,
            (self.provider, self.model_id),
            meter.usage,
            self._compute_cost(meter),
            answered=meter.is_answered,
        )

    def _compute_cost(self, meter: UsageMeter) -> Decimal | None:
        if not meter.has_output:
            return Decimal(0)
        price = self.get_price()
        return price.cost(meter.usage) if price else None
