"""Not asking twice what was answered a moment ago, or is being answered right now."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from typing_extensions import override

from junto.domain.questions import (
    Answer,
    Event,
    Finished,
    Question,
    TextDelta,
    ThinkingDelta,
    ToolCallMade,
)
from junto.domain.usage import Origin
from junto.providers.provider import Provider


class AnswerCache(Protocol):
    """Keeps answers for a while."""

    async def get(self, key: str) -> Answer | None:
        """Return the answer under `key`, if it is still good."""
        ...

    async def put(self, key: str, answer: Answer) -> None:
        """Keep an answer."""
        ...


@dataclass(slots=True)
class LocalCache:
    """Keeps answers in this process: so many, for so long."""

    seconds: float = 300
    most: int = 1000
    now: Callable[[], float] = time.monotonic
    _kept: OrderedDict[str, tuple[float, Answer]] = field(default_factory=OrderedDict)

    async def get(self, key: str) -> Answer | None:
        """Return the answer under `key`, if it is still good."""
        until, answer = self._kept.get(key, (0.0, None))
        if until <= self.now():
            self._kept.pop(key, None)
            return None
        self._kept.move_to_end(key)
        return answer

    async def put(self, key: str, answer: Answer) -> None:
        """Keep an answer, and let go of the one that was longest not asked for."""
        self._kept[key] = (self.now() + self.seconds, answer)
        self._kept.move_to_end(key)
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)


def cache_key(source: str, question: Question) -> str:
    """Return the same key for the same question to the same model, and for nothing else."""
    # The repr of frozen data names every field and quotes every value; who asks is no part of it.
    asked = f"{source}\n{replace(question, origin=Origin())!r}"
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(eq=False, slots=True)
class _Flight:
    """One question under way, to which any number of callers listen."""

    events: list[Event] = field(default_factory=list)
    error: Exception | None = None
    listeners: int = 0
    work: "asyncio.Task[None] | None" = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Return whether nothing more will come of it, or everybody has left."""
        return self.work is None or self.work.done() or self.work.cancelling() > 0

    async def run(self, source: AsyncGenerator[Event]) -> None:
        try:
            async with aclosing(source):
                async for event in source:
                    self.events.append(event)
                    self._wake()
        except Exception as error:  # noqa: BLE001 - every listener gets it
            self.error = error
        finally:
            self._wake()

    async def listened(self) -> AsyncGenerator[Event]:
        """Yield everything from the beginning; the last to leave stops the work."""
        self.listeners += 1
        heard = 0
        try:
            while True:
                news, over = self._news, self.work is None or self.work.done()
                for event in self.events[heard:]:
                    heard += 1
                    yield event
                if over and heard == len(self.events):
                    break
                if not over:
                    await news.wait()
            if self.error:
                raise self.error
        finally:
            self.listeners -= 1
            answered = bool(self.events) and isinstance(self.events[-1], Finished)
            # What is left to do after the answer, such as settling what it cost, is done.
            if not self.listeners and self.work and not answered:
                self.work.cancel()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


@dataclass(eq=False, slots=True)
class Cached(Provider):
    """Answers from the cache; a question that is being answered already is asked only once."""

    inner: Provider
    cache: AnswerCache
    source: str  # which model, and where: others may use the same name for another
    _flights: dict[str, _Flight] = field(default_factory=dict)

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        key = cache_key(self.source, question)
        if answer := await self.cache.get(key):
            for event in _replayed(answer):
                yield event
            return
        async with aclosing(self._joined(key, question).listened()) as events:
            async for event in events:
                if isinstance(event, Finished):
                    await self.cache.put(key, event.answer)
                yield event

    def _joined(self, key: str, question: Question) -> _Flight:
        """Return the flight that answers this question, which may be a new one."""
        under_way = self._flights.get(key)
        if under_way and not under_way.over:
            return under_way
        flight = self._flights[key] = _Flight()
        flight.work = asyncio.create_task(flight.run(self.inner.stream(question)))
        flight.work.add_done_callback(lambda _: self._landed(key, flight))
        return flight

    def _landed(self, key: str, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


def _replayed(answer: Answer) -> Iterator[Event]:
    """Yield an answer that is known already, as if it were given now."""
    if answer.message.thinking:
        yield ThinkingDelta(answer.message.thinking)
    if answer.message.text:
        yield TextDelta(answer.message.text)
    for call in answer.message.tool_calls:
        yield ToolCallMade(call)
    yield Finished(answer)
