"""The handle of a job in this process: passes its output to subscribers and to the writer."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from junto.domain.jobs import Job, JobLogEntry, JobLogKind, JobState, JobUpdate, JsonObject
from junto.jobs.subscription import JobSubscription


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The final state of a job, with its result or error."""

    state: JobState
    result: JsonObject | None = None
    error: JsonObject | None = None


class JobWriter(Protocol):
    """Writes the updates of jobs to the store."""

    def schedule(self, handle: "JobHandle") -> None:
        """Write the job's updates with the next batch."""
        ...

    def schedule_now(self, handle: "JobHandle") -> None:
        """Write the job's updates as soon as possible."""
        ...


@dataclass(slots=True)
class _LogChunk:
    at: float
    kind: JobLogKind
    texts: list[str]


@dataclass(eq=False, slots=True)
class JobHandle:
    """A job of this process; only its own task sets the outcome."""

    job: Job
    writer: JobWriter
    now: Callable[[], float] = time.time
    ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    task: "asyncio.Task[None] | None" = field(default=None, init=False)
    stop_reason: str | None = field(default=None, init=False)
    # The exception of the work, for a caller that still waits.
    exception: Exception | None = field(default=None, init=False)
    partial_result: JsonObject | None = field(default=None, init=False)
    _inbox: Callable[[str], None] | None = field(default=None, init=False)
    _chunks: list[_LogChunk] = field(default_factory=list, init=False)
    _unwritten_entries: list[JobLogEntry] = field(default_factory=list, init=False)
    _last_sequence: int = field(default=0, init=False)
    _is_dirty: bool = field(default=True, init=False)
    _subscriptions: set[JobSubscription] = field(default_factory=set, init=False)
    _pending_answers: "dict[str, asyncio.Future[Any]]" = field(default_factory=dict, init=False)
    _end_callbacks: list[Callable[[], None]] = field(default_factory=list, init=False)

    def add_text(self, text: str) -> None:
        """Append text to the answer."""
        for subscription in self._subscriptions:
            subscription.on_text(text)
        self._append_log(JobLogKind.TEXT, text)

    def set_status(self, status: str) -> None:
        """Report the current activity."""
        for subscription in self._subscriptions:
            subscription.on_status(status)
        self._append_log(JobLogKind.NOTE, status)

    def add_message(self, message: JsonObject) -> None:
        """Add a complete message to the log and send it to the subscribers."""
        for subscription in self._subscriptions:
            subscription.on_message(message)
        self._append_log(JobLogKind.MESSAGE, json.dumps(dict(message)))

    def set_partial_result(self, result: JsonObject) -> None:
        """Set the result to use if the job is stopped."""
        self.partial_result = result

    def set_inbox(self, inbox: Callable[[str], None] | None) -> None:
        """Set the callback for messages from the owner; None accepts no more."""
        self._inbox = inbox

    def deliver_message(self, message: str) -> bool:
        """Pass a message of the owner to the work; return whether it accepts messages."""
        if self._inbox is None:
            return False
        self._inbox(message)
        return True

    def set_usage(self, usage: JsonObject) -> None:
        """Set the usage so far."""
        self._update_job(usage=usage)

    async def ask(self, key: str, request: JsonObject) -> Any:
        """Ask the owner a question, and wait for the answer."""
        future = self._pending_answers[key] = asyncio.get_running_loop().create_future()
        self._update_job(asks={**(self.job.asks or {}), key: request})
        for subscription in self._subscriptions:
            subscription.on_question()
        self.writer.schedule_now(self)
        try:
            return await future
        finally:
            self._withdraw_question(key)

    def receive_answers(self, answers: Mapping[str, Any]) -> None:
        """Resolve pending questions with the owner's answers; ignore answers to unknown keys."""
        for key, value in answers.items():
            future = self._pending_answers.get(key)
            if future and not future.done():
                future.set_result(value)
                self._withdraw_question(key)

    @asynccontextmanager
    async def subscribe(self) -> AsyncGenerator[JobSubscription]:
        """Yield a subscription to all output from now on."""
        subscription = JobSubscription()
        self._subscriptions.add(subscription)
        if self.ended.is_set():
            subscription.on_end()
        elif self.job.asks:  # a caller that returns without an answer is asked again
            subscription.on_question()
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def detach(self) -> None:
        """Let the job continue without its caller."""
        self._update_job(detached=True)

    def mark_started(self) -> None:
        """Set the state to running."""
        self._update_job(state=JobState.RUNNING, started=self.now())
        self._append_log(JobLogKind.STATE, JobState.RUNNING)

    def finish(self, outcome: JobOutcome) -> None:
        """Set the outcome; only the first call has an effect."""
        if self.ended.is_set():
            return
        self._update_job(
            state=outcome.state,
            ended=self.now(),
            result=outcome.result,
            error=outcome.error,
            asks=None,
        )
        self._append_log(JobLogKind.STATE, outcome.state)
        self.ended.set()
        for subscription in self._subscriptions:
            subscription.on_end()
        for callback in self._end_callbacks:
            callback()
        # Subscribers get the result directly; other readers depend on the store.
        if self.job.detached or not self._subscriptions:
            self.writer.schedule_now(self)

    def add_end_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the job has ended, or now if it has."""
        if self.ended.is_set():
            callback()
        else:
            self._end_callbacks.append(callback)

    def stop(self, reason: str) -> None:
        """Cancel the job's task; the output so far is kept."""
        if self.stop_reason is None and not self.ended.is_set() and self.task:
            self.stop_reason = reason
            self.task.cancel()

    def take_record(self) -> JobUpdate | None:
        """Return the updates that are not written yet, or None."""
        for chunk in self._chunks:
            self._last_sequence += 1
            text = "".join(chunk.texts)
            self._unwritten_entries.append(
                JobLogEntry(self._last_sequence, chunk.at, chunk.kind, text)
            )
        self._chunks = []
        if not (self._is_dirty or self._unwritten_entries):
            return None
        self._is_dirty = False
        return JobUpdate(replace(self.job, updated=self.now()), tuple(self._unwritten_entries))

    def mark_written(self, record: JobUpdate) -> None:
        """Drop the log entries that the store has saved."""
        del self._unwritten_entries[: len(record.entries)]

    def mark_unwritten(self) -> None:
        """Mark the last record as not saved, so that it is written again."""
        self._is_dirty = True

    def _append_log(self, kind: JobLogKind, text: str) -> None:
        last = self._chunks[-1] if self._chunks else None
        if last and last.kind is kind is JobLogKind.TEXT:
            last.texts.append(text)
            return
        if last and last.kind is kind is JobLogKind.NOTE:  # only the latest status matters
            last.texts = [text]
            return
        self._chunks.append(_LogChunk(self.now(), kind, [text]))
        self.writer.schedule(self)

    def _update_job(self, **changes: Any) -> None:
        self.job = replace(self.job, **changes)
        self._is_dirty = True
        self.writer.schedule(self)

    def _withdraw_question(self, key: str) -> None:
        self._pending_answers.pop(key, None)
        remaining = {
            name: request for name, request in (self.job.asks or {}).items() if name != key
        }
        self._update_job(asks=remaining or None)
