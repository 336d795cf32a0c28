"""Limits for each model: requests and tokens per minute, and concurrent calls."""

import asyncio
import itertools
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.completions import AnswerEvent, Event, Question, StatusEvent, Usage
from junto.domain.errors import CapacityExceededError, InvalidInputError, JuntoError
from junto.domain.limits import RateLimit, RateLimiter, RateReservation
from junto.domain.token_estimates import estimate_question_tokens
from junto.providers.provider import Provider
from junto.telemetry.logs import Log

_log = Log.get("providers")
_MAX_KEYS = 1000


@dataclass(slots=True)
class _WindowEntry:
    taken_at: float
    tokens: int


@dataclass(slots=True)
class _SlidingWindow:
    """The recent reservations, oldest first, and the sum of their tokens."""

    entries: OrderedDict[str, _WindowEntry] = field(default_factory=OrderedDict)
    used_tokens: int = 0

    def expire(self, before: float) -> None:
        while self.entries and (oldest := next(iter(self.entries.values()))).taken_at <= before:
            self.used_tokens -= oldest.tokens
            self.entries.popitem(last=False)

    def compute_wait(self, tokens: int, rate: RateLimit, now: float) -> float:
        """Return the seconds until enough entries have expired."""
        requests, used, free_at = len(self.entries), self.used_tokens, now
        for entry in self.entries.values():
            if requests < rate.requests and used + tokens <= rate.tokens:
                break
            requests, used, free_at = (
                requests - 1,
                used - entry.tokens,
                entry.taken_at + rate.seconds,
            )
        return free_at - now


@dataclass(slots=True)
class InMemoryRateLimiter:
    """A rate limiter for this process, with a sliding window."""

    now: Callable[[], float] = time.monotonic
    _windows: dict[str, _SlidingWindow] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=itertools.count)

    async def acquire(self, key: str, tokens: int, rate: RateLimit) -> RateReservation | float:
        """Return a reservation, or the seconds to wait before trying again."""
        # No await between the check and the reservation, so no other task can interfere.
        now, window = self.now(), self._windows.setdefault(key, _SlidingWindow())
        if len(self._windows) > _MAX_KEYS:
            self._evict_idle_keys(now - rate.seconds, key)
        window.expire(now - rate.seconds)
        wait = window.compute_wait(tokens, rate, now)
        if wait > 0:
            return wait
        reservation = RateReservation(key, str(next(self._ids)))
        window.entries[reservation.id] = _WindowEntry(now, tokens)
        window.used_tokens += tokens
        return reservation

    def _evict_idle_keys(self, before: float, keep: str) -> None:
        """Drop keys without recent reservations."""
        for key, window in list(self._windows.items()):
            window.expire(before)
            if not window.entries and key != keep:
                del self._windows[key]

    async def settle(self, reservation: RateReservation, tokens: int) -> None:
        """Replace the estimate of a reservation with the tokens actually used."""
        window = self._windows.get(reservation.key, _SlidingWindow())
        if entry := window.entries.get(reservation.id):
            window.used_tokens += tokens - entry.tokens
            entry.tokens = tokens


@dataclass(frozen=True, slots=True)
class RateLimited(Provider):
    """A provider that waits for the rate limit, and fails if that would take too long."""

    inner: Provider
    limiter: RateLimiter
    key: str
    rate: RateLimit
    max_wait_seconds: float = 30
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        tokens = self._estimate_tokens(question)
        deadline = self.now() + self.max_wait_seconds
        while not isinstance(
            outcome := await self.limiter.acquire(self.key, tokens, self.rate), RateReservation
        ):
            if self.now() + outcome > deadline:
                raise CapacityExceededError(
                    f"{self.key} is asked as often as it may be; there is room in {outcome:.0f} s.",
                    retry_after=outcome,
                )
            yield StatusEvent(
                f"{self.key} is asked as often as it may be; going on in {outcome:.0f} s"
            )
            await self.sleep(outcome)
        async with aclosing(self.inner.stream(question)) as events:
            async for event in events:
                if isinstance(event, AnswerEvent):
                    await self._settle(outcome, event.answer.usage)
                yield event

    async def _settle(self, taken: RateReservation, usage: Usage) -> None:
        try:
            await self.limiter.settle(taken, usage.input_tokens + usage.output_tokens)
        except JuntoError as error:  # the answer is complete; the estimate stays
            _log.warning("rate not settled", model=self.key, reason=error.message)

    def _estimate_tokens(self, question: Question) -> int:
        tokens = estimate_question_tokens(question)
        if tokens > self.rate.tokens:
            raise InvalidInputError(
                f"The question takes about {tokens:,} tokens, and {self.key} may use "
                f"{self.rate.tokens:,} a minute. Send less, or ask for a shorter answer."
            )
        return tokens


@dataclass(frozen=True, slots=True)
class ConcurrencyLimited(Provider):
    """A provider that limits the number of concurrent calls."""

    inner: Provider
    semaphore: asyncio.Semaphore

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        async with self.semaphore, aclosing(self.inner.stream(question)) as events:
            async for event in events:
                yield event
