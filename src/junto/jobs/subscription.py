"""Subscriptions to a job's output: rate-limited, with heartbeats while the job is silent."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# At most twenty updates a second; output in between is sent with the next update.
MIN_UPDATE_INTERVAL_SECONDS = 0.05
# Maximum silence; a little less than the five seconds that are promised.
HEARTBEAT_SECONDS = 4.5


@dataclass(eq=False, slots=True)
class JobSubscription:
    """Buffers the output of a job until the subscriber reads it."""

    now: Callable[[], float] = time.monotonic
    # The longest silence before a heartbeat is sent.
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    # Whether the job waits for an answer of its owner; ends `stream_updates`.
    has_question: bool = field(default=False, init=False)
    _text_chunks: list[str] = field(default_factory=list, init=False)
    _messages: list[Mapping[str, Any]] = field(default_factory=list, init=False)
    _status: str | None = field(default=None, init=False)
    _status_changed: bool = field(default=False, init=False)
    _last_update: float = field(default=0.0, init=False)
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def on_text(self, text: str) -> None:
        """Buffer text of the answer."""
        self._text_chunks.append(text)
        self._wakeup.set()

    def on_status(self, status: str) -> None:
        """Set the current activity, replacing the previous one."""
        self._status, self._status_changed = status, True
        self._wakeup.set()

    def on_message(self, message: Mapping[str, Any]) -> None:
        """Buffer a complete message."""
        self._messages.append(message)
        self._wakeup.set()

    def on_question(self) -> None:
        """Record that the job waits for an answer of its owner."""
        self.has_question = True
        self._wakeup.set()

    def on_end(self) -> None:
        """Record that the job has ended."""
        self._ended.set()
        self._wakeup.set()

    async def stream_updates(self) -> AsyncGenerator[str | Mapping[str, Any]]:
        """Yield new output, at a limited rate, until the job ends or asks a question."""
        started = self._last_update = self.now()
        pause = 0.0  # the first update is sent at once
        timer = _SilenceTimer(self)
        try:
            while not self._ended.is_set():
                await self._wakeup.wait()
                await self._sleep_unless_ended(self._last_update + pause - self.now())
                self._wakeup.clear()
                for message in self._take_messages():
                    self._last_update, pause = self.now(), MIN_UPDATE_INTERVAL_SECONDS
                    yield message
                update = self._take_update()
                if not update and self.now() - self._last_update >= self.heartbeat_seconds:
                    update = f"{self._status or 'still working'} ({self.now() - started:.0f} s)"
                if update:
                    self._last_update, pause = self.now(), MIN_UPDATE_INTERVAL_SECONDS
                    yield update
                if self.has_question:
                    return
        finally:
            timer.cancel()
        for message in self._take_messages():
            yield message
        if text := "".join(self._text_chunks):
            yield text

    def wake_if_silent(self) -> float:
        """Wake the subscriber if a heartbeat is due; return the seconds until the next check."""
        left = self._last_update + self.heartbeat_seconds - self.now()
        if left > 0:
            return left
        self._wakeup.set()
        return self.heartbeat_seconds

    def _take_messages(self) -> list[Mapping[str, Any]]:
        messages, self._messages = self._messages, []
        return messages

    def _take_update(self) -> str:
        chunks, status = self._text_chunks, f"{self._status} …" if self._status_changed else ""
        self._text_chunks, self._status_changed = [], False
        return "".join(chunks) or status

    async def _sleep_unless_ended(self, seconds: float) -> None:
        """Sleep for `seconds`, or until the job ends."""
        if seconds > 0 and not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait()


class _SilenceTimer:
    """Wakes a silent subscription; one timer is cheaper than a timeout around each wait."""

    def __init__(self, subscription: JobSubscription) -> None:
        self._subscription, self._loop = subscription, asyncio.get_running_loop()
        self._timer = self._loop.call_later(subscription.heartbeat_seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = self._loop.call_later(self._subscription.wake_if_silent(), self._on_timer)

    def cancel(self) -> None:
        """Stop the timer."""
        self._timer.cancel()
