"""Not asking faster than a provider allows: requests and tokens per minute, and calls at once."""

import asyncio
import itertools
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.errors import InvalidInputError, JuntoError, NoRoomError
from junto.domain.estimates import question_tokens
from junto.domain.limits import Rate, RateLimiter, Taken
from junto.domain.questions import Event, Finished, Question, Usage, Waiting
from junto.providers.provider import Provider
from junto.telemetry.logs import Log

_log = Log.of("providers")
_MOST_KEYS = 1000


@dataclass(slots=True)
class _Entry:
    at: float
    tokens: int


@dataclass(slots=True)
class _Window:
    """What was taken lately, the oldest first, and how many tokens that is in all."""

    entries: OrderedDict[str, _Entry] = field(default_factory=OrderedDict)
    used: int = 0

    def forget(self, before: float) -> None:
        while self.entries and (oldest := next(iter(self.entries.values()))).at <= before:
            self.used -= oldest.tokens
            self.entries.popitem(last=False)

    def wait(self, tokens: int, rate: Rate, now: float) -> float:
        """Return how long until enough of the entries have left."""
        requests, used, leaves = len(self.entries), self.used, now
        for entry in self.entries.values():
            if requests < rate.requests and used + tokens <= rate.tokens:
                break
            requests, used, leaves = requests - 1, used - entry.tokens, entry.at + rate.seconds
        return leaves - now


@dataclass(slots=True)
class LocalLimiter:
    """Counts within this process, over a window that slides."""

    now: Callable[[], float] = time.monotonic
    _windows: dict[str, _Window] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def take(self, key: str, tokens: int, rate: Rate) -> Taken | float:
        """Return a place, or the seconds after which there may be one."""
        # Nothing is awaited between looking and taking, so nobody can come between.
        now, window = self.now(), self._windows.setdefault(key, _Window())
        if len(self._windows) > _MOST_KEYS:
            self._tidy(now - rate.seconds, key)
        window.forget(now - rate.seconds)
        wait = window.wait(tokens, rate, now)
        if wait > 0:
            return wait
        taken = Taken(key, str(next(self._numbers)))
        window.entries[taken.id] = _Entry(now, tokens)
        window.used += tokens
        return taken

    def _tidy(self, before: float, kept: str) -> None:
        """Forget keys that nobody has used lately."""
        for key, window in list(self._windows.items()):
            window.forget(before)
            if not window.entries and key != kept:
                del self._windows[key]

    async def settle(self, taken: Taken, tokens: int) -> None:
        """Say how many tokens the call took in truth."""
        window = self._windows.get(taken.key, _Window())
        if entry := window.entries.get(taken.id):
            window.used += tokens - entry.tokens
            entry.tokens = tokens


@dataclass(frozen=True, slots=True)
class Limited(Provider):
    """Waits for a place within the limit, for a while; then says when to come back."""

    inner: Provider
    limiter: RateLimiter
    key: str
    rate: Rate
    patience: float = 30
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        tokens = self._fitting(question)
        until = self.now() + self.patience
        while not isinstance(taken := await self.limiter.take(self.key, tokens, self.rate), Taken):
            if self.now() + taken > until:
                raise NoRoomError(
                    f"{self.key} is asked as often as it may be; there is room in {taken:.0f} s.",
                    retry_after=taken,
                )
            yield Waiting(f"{self.key} is asked as often as it may be; going on in {taken:.0f} s")
            await self.sleep(taken)
        async with aclosing(self.inner.stream(question)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    await self._settle(taken, event.answer.usage)
                yield event

    async def _settle(self, taken: Taken, usage: Usage) -> None:
        try:
            await self.limiter.settle(taken, usage.input_tokens + usage.output_tokens)
        except JuntoError as error:  # the answer is there; the estimate stays
            _log.warning("rate not settled", model=self.key, reason=error.message)

    def _fitting(self, question: Question) -> int:
        tokens = question_tokens(question)
        if tokens > self.rate.tokens:
            raise InvalidInputError(
                f"The question takes about {tokens:,} tokens, and {self.key} may use "
                f"{self.rate.tokens:,} a minute. Send less, or ask for a shorter answer."
            )
        return tokens


@dataclass(frozen=True, slots=True)
class Capped(Provider):
    """Lets only so many calls run at once."""

    inner: Provider
    places: asyncio.Semaphore

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        async with self.places, aclosing(self.inner.stream(question)) as events:
            async for event in events:
                yield event
