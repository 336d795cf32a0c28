"""One job under way in this process: what it says is heard by its watchers and written down."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from junto.domain.jobs import Entry, Facts, Job, Kind, Record, State
from junto.jobs.watching import Watch


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended, and with what."""

    state: State
    result: Facts | None = None
    error: Facts | None = None


class Writer(Protocol):
    """Writes down what is new about a job."""

    def soon(self, running: "Running") -> None:
        """Write it with whatever else there is."""
        ...

    def at_once(self, running: "Running") -> None:
        """Write it without waiting for more."""
        ...


@dataclass(slots=True)
class _Piece:
    at: float
    kind: Kind
    texts: list[str]


@dataclass(eq=False, slots=True)
class Running:
    """A job of this process; only its own task decides how it ends."""

    job: Job
    writer: Writer
    now: Callable[[], float] = time.time
    ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    task: "asyncio.Task[None] | None" = field(default=None, init=False)
    stopped: str | None = field(default=None, init=False)
    # What the work raised, for whoever still watches.
    failure: Exception | None = field(default=None, init=False)
    so_far: Facts | None = field(default=None, init=False)
    _take: Callable[[str], None] | None = field(default=None, init=False)
    _pieces: list[_Piece] = field(default_factory=list, init=False)
    _unwritten: list[Entry] = field(default_factory=list, init=False)
    _sequence: int = field(default=0, init=False)
    _changed: bool = field(default=True, init=False)
    _watches: set[Watch] = field(default_factory=set, init=False)
    _answers: "dict[str, asyncio.Future[Any]]" = field(default_factory=dict, init=False)

    def says(self, words: str) -> None:
        """Add a piece to the answer."""
        for watch in self._watches:
            watch.says(words)
        self._log(Kind.TEXT, words)

    def notes(self, note: str) -> None:
        """Say what is being done."""
        for watch in self._watches:
            watch.notes(note)
        self._log(Kind.NOTE, note)

    def tells(self, message: Facts) -> None:
        """Pass on something whole."""
        for watch in self._watches:
            watch.tells(message)
        self._log(Kind.MESSAGE, json.dumps(dict(message)))

    def keeps(self, result: Facts) -> None:
        """Have a result in case that it is stopped."""
        self.so_far = result

    def listens(self, take: Callable[[str], None] | None) -> None:
        """Take messages of the owner from now on, or none any more."""
        self._take = take

    def hands_on(self, message: str) -> bool:
        """Give the work a message of the owner; tell whether it takes any."""
        if self._take is None:
            return False
        self._take(message)
        return True

    def uses(self, usage: Facts) -> None:
        """Say what it took so far."""
        self._becomes(usage=usage)

    async def asks(self, key: str, request: Facts) -> Any:
        """Ask the owner something, and wait for the answer."""
        answer = self._answers[key] = asyncio.get_running_loop().create_future()
        self._becomes(asks={**(self.job.asks or {}), key: request})
        for watch in self._watches:
            watch.asks()
        self.writer.at_once(self)
        try:
            return await answer
        finally:
            self._withdraw(key)

    def hears(self, answers: Mapping[str, Any]) -> None:
        """Take the owner's answers; those to nothing that was asked count for nothing."""
        for key, value in answers.items():
            waiting = self._answers.get(key)
            if waiting and not waiting.done():
                waiting.set_result(value)
                self._withdraw(key)

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[Watch]:
        """Lend a watch, which hears all that is said from now on."""
        watch = Watch()
        self._watches.add(watch)
        if self.ended.is_set():
            watch.ends()
        elif self.job.asks:  # whoever comes back without an answer is asked again
            watch.asks()
        try:
            yield watch
        finally:
            self._watches.discard(watch)

    def detach(self) -> None:
        """Let it go on without whoever asked for it."""
        self._becomes(detached=True)

    def begins(self) -> None:
        """Note that it is no longer waiting."""
        self._becomes(state=State.RUNNING, started=self.now())
        self._log(Kind.STATE, State.RUNNING)

    def ends(self, outcome: Outcome) -> None:
        """Note how it ended; the first time counts."""
        if self.ended.is_set():
            return
        self._becomes(
            state=outcome.state,
            ended=self.now(),
            result=outcome.result,
            error=outcome.error,
            asks=None,
        )
        self._log(Kind.STATE, outcome.state)
        self.ended.set()
        for watch in self._watches:
            watch.ends()
        # Whoever watches gets the result now; only who comes back for it depends on what is kept.
        if self.job.detached or not self._watches:
            self.writer.at_once(self)

    def stop(self, reason: str) -> None:
        """Ask it to end; it keeps what it has said so far."""
        if self.stopped is None and not self.ended.is_set() and self.task:
            self.stopped = reason
            self.task.cancel()

    def record(self) -> Record | None:
        """Return what is not written down yet, if there is anything."""
        for piece in self._pieces:
            self._sequence += 1
            text = "".join(piece.texts)
            self._unwritten.append(Entry(self._sequence, piece.at, piece.kind, text))
        self._pieces = []
        if not (self._changed or self._unwritten):
            return None
        self._changed = False
        return Record(replace(self.job, updated=self.now()), tuple(self._unwritten))

    def wrote(self, record: Record) -> None:
        """Take note of what is written down now."""
        del self._unwritten[: len(record.entries)]

    def forgot(self) -> None:
        """Take note that the last record was not written down."""
        self._changed = True

    def _log(self, kind: Kind, text: str) -> None:
        last = self._pieces[-1] if self._pieces else None
        if last and last.kind is kind is Kind.TEXT:
            last.texts.append(text)
            return
        if last and last.kind is kind is Kind.NOTE:  # the last one says how things stand
            last.texts = [text]
            return
        self._pieces.append(_Piece(self.now(), kind, [text]))
        self.writer.soon(self)

    def _becomes(self, **changes: Any) -> None:
        self.job = replace(self.job, **changes)
        self._changed = True
        self.writer.soon(self)

    def _withdraw(self, key: str) -> None:
        self._answers.pop(key, None)
        left = {name: ask for name, ask in (self.job.asks or {}).items() if name != key}
        self._becomes(asks=left or None)
