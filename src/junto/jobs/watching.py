"""What a watcher hears of a job: often enough to know that it lives; never a flood."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

# At most twenty a second; what comes in between goes out with the next.
PAUSE = 0.05
# Whoever waits hears something at least this often; a little less than the five seconds promised.
BEAT = 4.5


@dataclass(eq=False, slots=True)
class Watch:
    """Collects what a job says until its watcher has time for it."""

    now: Callable[[], float] = time.monotonic
    _words: list[str] = field(default_factory=list, init=False)
    _note: str | None = field(default=None, init=False)
    _fresh_note: bool = field(default=False, init=False)
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

    def ends(self) -> None:
        """Take note that nothing follows."""
        self._over.set()
        self._news.set()

    async def news(self) -> AsyncGenerator[str]:
        """Yield what is new, as soon as it may be told, until the job has ended."""
        began, told = self.now(), 0.0
        while not self._over.is_set():
            if await _within(self._news, BEAT):
                await _within(self._over, told + PAUSE - self.now())
                message = self._taken()
            else:
                message = f"{self._note or 'still working'} ({self.now() - began:.0f} s)"
            if message:
                told = self.now()
                yield message
        if words := "".join(self._words):
            yield words

    def _taken(self) -> str:
        self._news.clear()
        words, note = self._words, f"{self._note} …" if self._fresh_note else ""
        self._words, self._fresh_note = [], False
        return "".join(words) or note


async def _within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event so long and no longer; return whether it has come."""
    if event.is_set() or seconds <= 0:
        return event.is_set()
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
