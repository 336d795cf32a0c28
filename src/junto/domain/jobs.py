"""Jobs: work that does not end with the call that asked for it, and who keeps the record of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Facts = Mapping[str, Any]


class State(StrEnum):
    """How far a job is; a job has one of the last five once, and for good."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LOST = "lost"  # its server died under it

    @property
    def final(self) -> bool:
        """Return whether nothing comes after it."""
        return self not in (State.QUEUED, State.RUNNING)


class Kind(StrEnum):
    """What an entry in a job's log is about."""

    STATE = "state"
    NOTE = "note"  # what it is doing
    TEXT = "text"  # a piece of the answer
    MESSAGE = "message"  # something whole, as JSON


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a job's log, which only grows; the first has number 1."""

    sequence: int
    at: float
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The record of a job."""

    id: str
    owner: str
    tool: str
    # A fingerprint of the arguments: enough to match two calls, and to guess neither.
    digest: str
    server: str
    state: State = State.QUEUED
    # Whether it goes on without whoever asked for it.
    detached: bool = False
    created: float
    updated: float
    started: float | None = None
    ended: float | None = None
    usage: Facts | None = None
    result: Facts | None = None
    error: Facts | None = None
    # What it wants to know from its owner before it goes on, by key.
    asks: Mapping[str, Facts] | None = None

    @property
    def seconds(self) -> float:
        """Return how long it has been under way, as far as is written down."""
        return (self.ended or self.updated) - self.created


@dataclass(frozen=True, slots=True)
class Record:
    """What is new about a job: how it stands, and what was added to its log."""

    job: Job
    entries: tuple[Entry, ...] = ()


class Wish(StrEnum):
    """What somebody may want of a running job."""

    CANCEL = "cancel"
    ANSWER = "answer"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Letter:
    """A wish about a job, for the server that runs it."""

    job: str
    wish: Wish
    text: str


class JobStore(Protocol):
    """Keeps the records of jobs, for all servers that share it."""

    async def write(self, records: Sequence[Record]) -> frozenset[str]:
        """Write down what is new, in one step; to do so twice is the same as once.

        A job that somebody gave up as lost stays as it is; return the ids of those.
        """
        ...

    async def find(self, owner: str, id_: str) -> Job | None:
        """Return a job of `owner`."""
        ...

    async def recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        """Return the latest jobs of `owner`, the newest first, without their results."""
        ...

    async def entries(self, id_: str, after: int, limit: int) -> tuple[Entry, ...]:
        """Return what a job has logged after the entry with that number."""
        ...

    async def text(self, id_: str) -> str:
        """Return all pieces of a job's answer as one."""
        ...

    async def send(self, letter: Letter) -> None:
        """Leave a wish for the server that runs a job."""
        ...

    async def collect(self, server: str) -> tuple[Letter, ...]:
        """Take what was left for `server`, each once."""
        ...

    async def beat(self, server: str) -> None:
        """Note that `server` is alive."""
        ...

    async def unfinished(self) -> Mapping[str, float]:
        """Return the servers with unfinished jobs, and how many seconds ago each was heard of."""
        ...

    async def lose(self, server: str, at: float, error: Facts) -> int:
        """Give up what `server` has not finished, and return how many jobs that were."""
        ...

    async def sweep(self, before: float) -> int:
        """Forget jobs that ended before then, and return how many that were."""
        ...
