"""Retry a model after a temporary failure, and fall back to other models."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from typing_extensions import override

from junto.domain.completions import Event, Question, StatusEvent
from junto.domain.errors import CapacityExceededError, JuntoError
from junto.providers.provider import Provider
from junto.telemetry.logs import Log

_log = Log.get("providers")
_MAX_DELAY_SECONDS = 60.0


def compute_backoff(attempt: int, random_fraction: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait after attempt `attempt`, from 0: exponential, with jitter."""
    return min(_MAX_DELAY_SECONDS, 2.0**attempt) * (0.5 + random_fraction() / 2)


def compute_retry_delay(
    error: JuntoError,
    attempt: int,
    max_retries: int,
    backoff: Callable[[int], float] = compute_backoff,
) -> float | None:
    """Return the seconds to wait before a retry, or None if a retry is pointless."""
    if isinstance(error, CapacityExceededError) or not error.retryable or attempt >= max_retries:
        return None  # a CapacityExceededError has already waited
    delay = max(backoff(attempt), error.retry_after or 0)
    return delay if delay <= _MAX_DELAY_SECONDS else None


@dataclass(frozen=True, slots=True)
class Retrying(Provider):
    """A provider that retries after a temporary failure, unless output was already sent."""

    inner: Provider
    max_retries: int
    backoff: Callable[[int], float] = compute_backoff
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        for attempt in range(self.max_retries + 1):
            started = False
            try:
                async with aclosing(self.inner.stream(question)) as events:
                    async for event in events:
                        started = started or not isinstance(event, StatusEvent)
                        yield event
            except JuntoError as error:
                delay = compute_retry_delay(error, attempt, self.max_retries, self.backoff)
                if started or delay is None:
                    raise
                _log.info("asking again", model=question.model, code=error.code, seconds=delay)
            else:
                return
            yield StatusEvent(f"asking {question.model} again in {delay:.0f} s")
            await self.sleep(delay)


@dataclass(frozen=True, slots=True)
class FallbackCandidate:
    """A model to ask: its id, its provider, and its name in the provider's API."""

    id: str
    provider: Provider
    model: str

    def stream(self, question: Question) -> AsyncGenerator[Event]:
        """Ask the model under its own name."""
        return self.provider.stream(replace(question, model=self.model))


@dataclass(frozen=True, slots=True)
class Fallback(Provider):
    """A provider that asks the next model if one fails, unless output was already sent."""

    candidates: Sequence[FallbackCandidate]

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        if len(self.candidates) == 1:
            return self.candidates[0].stream(question)
        return self._stream_first_available(question)

    async def _stream_first_available(self, question: Question) -> AsyncGenerator[Event]:
        for candidate in self.candidates:
            started = False
            try:
                async with aclosing(candidate.stream(question)) as events:
                    async for event in events:
                        started = started or not isinstance(event, StatusEvent)
                        yield event
            except JuntoError as error:
                if started or not error.retryable or candidate is self.candidates[-1]:
                    raise
                _log.warning("asking another model", instead_of=candidate.id, code=error.code)
                yield StatusEvent(f"{candidate.id} cannot answer; asking another model")
            else:
                return
