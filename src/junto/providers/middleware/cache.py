"""A cache of answers, which also lets identical concurrent questions share one stream."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from typing_extensions import override

from junto.domain.completions import (
    Answer,
    AnswerEvent,
    Event,
    Question,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from junto.domain.usage import RequestOrigin
from junto.providers.provider import Provider


class AnswerCache(Protocol):
    """A store that keeps answers for a limited time."""

    async def get(self, key: str) -> Answer | None:
        """Return the answer under `key`, unless it has expired."""
        ...

    async def put(self, key: str, answer: Answer) -> None:
        """Store an answer."""
        ...


@dataclass(slots=True)
class InMemoryAnswerCache:
    """An LRU cache in this process, limited in size and age."""

    ttl_seconds: float = 300
    max_answers: int = 1000
    now: Callable[[], float] = time.monotonic
    _entries: OrderedDict[str, tuple[float, Answer]] = field(default_factory=OrderedDict)

    async def get(self, key: str) -> Answer | None:
        """Return the answer under `key`, unless it has expired."""
        expires_at, answer = self._entries.get(key, (0.0, None))
        if expires_at <= self.now():
            self._entries.pop(key, None)
            return None
        self._entries.move_to_end(key)
        return answer

    async def put(self, key: str, answer: Answer) -> None:
        """Store an answer, and evict the least recently used one if the cache is full."""
        self._entries[key] = (self.now() + self.ttl_seconds, answer)
        self._entries.move_to_end(key)
        while len(self._entries) > self.max_answers:
            self._entries.popitem(last=False)


def build_cache_key(source: str, question: Question) -> str:
    """Return a key that is unique to this question and source."""
    # The repr of a frozen dataclass contains all fields; the origin does not affect the answer.
    content = f"{source}\n{replace(question, origin=RequestOrigin())!r}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(eq=False, slots=True)
class _SharedStream:
    """A question in progress, with any number of listeners."""

    events: list[Event] = field(default_factory=list)
    error: Exception | None = None
    listener_count: int = 0
    task: "asyncio.Task[None] | None" = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Return whether the stream has ended or is being cancelled."""
        return self.task is None or self.task.done() or self.task.cancelling() > 0

    async def run(self, source: AsyncGenerator[Event]) -> None:
        try:
            async with aclosing(source):
                async for event in source:
                    self.events.append(event)
                    self._wake()
        except Exception as error:  # noqa: BLE001 - raised for every listener
            self.error = error
        finally:
            self._wake()

    async def stream_events(self) -> AsyncGenerator[Event]:
        """Yield all events from the first; the last listener to leave cancels the task."""
        self.listener_count += 1
        sent = 0
        try:
            while True:
                changed, is_done = self._changed, self.task is None or self.task.done()
                for event in self.events[sent:]:
                    sent += 1
                    yield event
                if is_done and sent == len(self.events):
                    break
                if not is_done:
                    await changed.wait()
            if self.error:
                raise self.error
        finally:
            self.listener_count -= 1
            is_answered = bool(self.events) and isinstance(self.events[-1], AnswerEvent)
            # After the answer, the task is left to finish, for example to settle the cost.
            if not self.listener_count and self.task and not is_answered:
                self.task.cancel()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


@dataclass(eq=False, slots=True)
class Cached(Provider):
    """A provider with a cache, in which identical concurrent questions share one stream."""

    inner: Provider
    cache: AnswerCache
    source: str  # model and server: another server may use the same name
    _shared_streams: dict[str, _SharedStream] = field(default_factory=dict)

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        key = build_cache_key(self.source, question)
        if answer := await self.cache.get(key):
            for event in _replay(answer):
                yield event
            return
        async with aclosing(self._join_or_start(key, question).stream_events()) as events:
            async for event in events:
                if isinstance(event, AnswerEvent):
                    await self.cache.put(key, event.answer)
                yield event

    def _join_or_start(self, key: str, question: Question) -> _SharedStream:
        """Return the stream that is answering this question, or start one."""
        current = self._shared_streams.get(key)
        if current and not current.is_over:
            return current
        shared_stream = self._shared_streams[key] = _SharedStream()
        shared_stream.task = asyncio.create_task(shared_stream.run(self.inner.stream(question)))
        shared_stream.task.add_done_callback(lambda _: self._remove(key, shared_stream))
        return shared_stream

    def _remove(self, key: str, shared_stream: _SharedStream) -> None:
        if self._shared_streams.get(key) is shared_stream:
            del self._shared_streams[key]


def _replay(answer: Answer) -> Iterator[Event]:
    """Yield the events of a cached answer."""
    if answer.message.thinking:
        yield ThinkingDelta(answer.message.thinking)
    if answer.message.text:
        yield TextDelta(answer.message.text)
    for call in answer.message.tool_calls:
        yield ToolCallEvent(call)
    yield AnswerEvent(answer)
