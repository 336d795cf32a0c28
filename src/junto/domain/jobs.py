"""Jobs, which may outlive the call that started them, and the protocol of their store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

JsonObject = Mapping[str, Any]


class JobState(StrEnum):
    """The state of a job. The last five are final: a job that has one keeps it."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LOST = "lost"  # its server died

    @property
    def is_final(self) -> bool:
        """Return whether the job has ended."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


class JobLogKind(StrEnum):
    """The kind of an entry in a job's log."""

    STATE = "state"
    NOTE = "note"  # what the job is doing
    TEXT = "text"  # a piece of the answer
    MESSAGE = "message"  # a complete message, as JSON


@dataclass(frozen=True, slots=True)
class JobLogEntry:
    """An entry of a job's append-only log; sequence numbers start at 1."""

    sequence: int
    at: float
    kind: JobLogKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it is stored."""

    id: str
    owner: str
    tool: str
    # Fingerprint of the arguments: identifies equal calls without revealing the arguments.
    digest: str
    server: str
    state: JobState = JobState.QUEUED
    # Whether the job continues after its caller has disconnected.
    detached: bool = False
    created: float
    updated: float
    started: float | None = None
    ended: float | None = None
    usage: JsonObject | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None
    # Questions that its owner must answer before the job continues, by key.
    asks: Mapping[str, JsonObject] | None = None

    @property
    def elapsed_seconds(self) -> float:
        """Return the seconds from creation to the end, or to the last update."""
        return (self.ended or self.updated) - self.created


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """A job's current record and its new log entries."""

    job: Job
    entries: tuple[JobLogEntry, ...] = ()


class JobCommand(StrEnum):
    """A command to a running job."""

    CANCEL = "cancel"
    ANSWER = "answer"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class JobMailItem:
    """A command to a job, in the mailbox of the server that runs it."""

    job_id: str
    command: JobCommand
    text: str


class JobStore(Protocol):
    """A store of jobs, shared by all servers that use the same database."""

    async def save_updates(self, updates: Sequence[JobUpdate]) -> frozenset[str]:
        """Save updates in one transaction; idempotent.

        A job that another server has marked as lost is not changed; return the ids of those.
        """
        ...

    async def find(self, owner: str, id_: str) -> Job | None:
        """Return a job of `owner`."""
        ...

    async def list_recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        """Return the latest jobs of `owner`, newest first, without their results."""
        ...

    async def read_log(self, id_: str, after: int, limit: int) -> tuple[JobLogEntry, ...]:
        """Return the log entries after the sequence number `after`."""
        ...

    async def read_text(self, id_: str) -> str:
        """Return all text entries of a job's log, joined."""
        ...

    async def send_command(self, item: JobMailItem) -> None:
        """Put a command into the mailbox of the server that runs the job."""
        ...

    async def take_commands(self, server: str) -> tuple[JobMailItem, ...]:
        """Return and remove the commands for `server`; each is delivered once."""
        ...

    async def record_heartbeat(self, server: str) -> None:
        """Record that `server` is alive."""
        ...

    async def list_busy_servers(self) -> Mapping[str, float]:
        """Return the servers with unfinished jobs, and the seconds since each last reported."""
        ...

    async def mark_lost(self, server: str, at: float, error: JsonObject) -> int:
        """Mark the unfinished jobs of `server` as lost; return how many."""
        ...

    async def delete_expired(self, before: float) -> int:
        """Delete jobs that ended before `before`; return how many."""
        ...
