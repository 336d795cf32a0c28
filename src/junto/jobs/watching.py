"""What a watcher hears of a job: often enough to know that it lives; never a flood."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# At most twenty a second; what comes in between goes out with the next.
PAUSE = 0.05
# Whoever waits hears something at least this often; a little less than the five seconds promised.
BEAT = 4.5


@dataclass(eq=False, slots=True)
class Watch:
    """Collects what a job says until its watcher has time for it."""

    now: Callable[[], float] = time.monotonic
    # Whether the job wants to know something; nothing more is told until it does.
    asked: bool = field(default=False, init=False)
    _words: list[str] = field(default_factory=list, init=False)
    _whole: list[Mapping[str, Any]] = field(default_factory=list, init=False)
    _note: str | None = field(default=None, init=False)
    _fresh_note: bool = field(default=False, init=False)
    _told: float = field(default=0.0, init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _over: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def says(self, words: str) -> None:
        """Take a piece of the answer."""
        self._words.append(words)
        self._news.set()

    def notes(self, note: str) -> None:
        """Take what the job is doing; the next note replaces it."""
        self._note, self._fresh_note = note, True
        self._news.set()

    def tells(self, message: Mapping[str, Any]) -> None:
        """Take something whole, which nothing replaces."""
        self._whole.append(message)
        self._news.set()

    def asks(self) -> None:
        """Take note that the job waits for an answer of its owner."""
        self.asked = True
        self._news.set()

    def ends(self) -> None:
        """Take note that nothing follows."""
        self._over.set()
        self._news.set()

    async def news(self) -> AsyncGenerator[str | Mapping[str, Any]]:
        """Yield what is new, as soon as it may be told, until the job has ended, or asks."""
        began = self._told = self.now()
        pause = 0.0  # before the first words there is none
        alarm = _Alarm(self)
        try:
            while not self._over.is_set():
                await self._news.wait()
                await self._rest(self._told + pause - self.now())
                self._news.clear()
                for whole in self._handed_over():
                    self._told, pause = self.now(), PAUSE
                    yield whole
                message = self._taken()
                if not message and self.now() - self._told >= BEAT:
                    message = f"{self._note or 'still working'} ({self.now() - began:.0f} s)"
                if message:
                    self._told, pause = self.now(), PAUSE
                    yield message
                if self.asked:
                    return
        finally:
            alarm.off()
        for whole in self._handed_over():
            yield whole
        if words := "".join(self._words):
            yield words

    def silence(self) -> float:
        """Wake the watcher if it has heard nothing for long; return when to look again."""
        left = self._told + BEAT - self.now()
        if left > 0:
            return left
        self._news.set()
        return BEAT

    def _handed_over(self) -> list[Mapping[str, Any]]:
        whole, self._whole = self._whole, []
        return whole

    def _taken(self) -> str:
        words, note = self._words, f"{self._note} …" if self._fresh_note else ""
        self._words, self._fresh_note = [], False
        return "".join(words) or note

    async def _rest(self, seconds: float) -> None:
        """Wait so long, unless the job ends before."""
        if seconds > 0 and not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._over.wait()


class _Alarm:
    """Looks after a watch now and then: cheaper than a clock around each of its waits."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self._loop = watch, asyncio.get_running_loop()
        self._timer = self._loop.call_later(BEAT, self._ring)

    def _ring(self) -> None:
        self._timer = self._loop.call_later(self._watch.silence(), self._ring)

    def off(self) -> None:
        """Ring no more."""
        self._timer.cancel()
