"""Not asking faster than a provider allows: requests and tokens per minute, and calls at once."""

import asyncio
import itertools
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.errors import InvalidInputError, NoRoomError
from junto.domain.limits import Rate, RateLimiter, Taken
from junto.domain.messages import Document, Image, Part, Text, Thinking, ToolCall, ToolResult
from junto.domain.questions import Event, Finished, Question, Waiting
from junto.providers.provider import Provider

_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_IMAGE = 1500
_BYTES_PER_DOCUMENT_TOKEN = 20


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
        window.forget(now - rate.seconds)
        wait = window.wait(tokens, rate, now)
        if wait > 0:
            return wait
        taken = Taken(key, str(next(self._numbers)))
        window.entries[taken.id] = _Entry(now, tokens)
        window.used += tokens
        return taken

    async def settle(self, taken: Taken, tokens: int) -> None:
        """Say how many tokens the call took in truth."""
        window = self._windows.get(taken.key, _Window())
        if entry := window.entries.get(taken.id):
            window.used += tokens - entry.tokens
            entry.tokens = tokens


def estimated_tokens(question: Question) -> int:
    """Return about how many tokens a question and its longest answer take."""
    words = len(question.system or "") + sum(
        len(tool.description) + len(str(tool.input_schema)) for tool in question.tools
    )
    said = sum(_tokens(part) for message in question.messages for part in message.parts)
    return words // _CHARACTERS_PER_TOKEN + said + question.max_tokens


def _tokens(part: Part) -> int:
    match part:
        case Text(text) | Thinking(text):
            return len(text) // _CHARACTERS_PER_TOKEN + 1
        case Image():
            return _TOKENS_PER_IMAGE
        case Document(_, data):
            return len(data) // _BYTES_PER_DOCUMENT_TOKEN + 1
        case ToolCall(_, name, arguments):
            return len(name + str(arguments)) // _CHARACTERS_PER_TOKEN + 1
        case ToolResult(_, content):
            return sum(_tokens(piece) for piece in content)


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
                    usage = event.answer.usage
                    await self.limiter.settle(taken, usage.input_tokens + usage.output_tokens)
                yield event

    def _fitting(self, question: Question) -> int:
        tokens = estimated_tokens(question)
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
