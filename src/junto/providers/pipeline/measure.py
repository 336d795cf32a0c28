"""Counting what models answer, and how long they take."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from typing_extensions import override

from junto.domain.errors import JuntoError
from junto.domain.questions import Event, Finished, Question
from junto.providers.provider import Provider
from junto.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Measured(Provider):
    """Counts each request, its tokens, its time and its failure, under the model's own id.

    The answer is signed with that id too, whatever name its provider gave.
    """

    inner: Provider
    metrics: Metrics
    provider: str
    model_id: str

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        started = time.perf_counter()
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self.metrics.model_answered(
                            self.provider,
                            self.model_id,
                            event.answer.usage.input_tokens,
                            event.answer.usage.output_tokens,
                            time.perf_counter() - started,
                        )
                        yield Finished(replace(event.answer, model=self.model_id))
                    else:
                        yield event
        except JuntoError as error:
            self.metrics.model_failed(self.provider, error.code)
            raise
