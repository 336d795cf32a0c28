"""Agent sessions, their transcripts, and the protocol of their store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An agent session that can be resumed."""

    id: str  # assigned by the agent, a UUID with dashes
    owner: str
    cwd: str
    cost: float  # US dollars spent so far
    created: float
    updated: float


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One line of a transcript. `part` is the file it belongs to, "" for the main one."""

    part: str  # such as "subagents/agent-x"
    text: str  # one JSON object
    uuid: str | None  # identity of the line, if it has one; duplicates are stored once


class SessionStore(Protocol):
    """A store of session transcripts, shared by all servers that use the same database."""

    async def save(self, session: Session) -> None:
        """Insert a session, or update the directory, cost and time of an existing one.

        A session of another owner is not changed.
        """
        ...

    async def find(self, owner: str, id_: str) -> Session | None:
        """Return a session of `owner`."""
        ...

    async def append(self, id_: str, lines: Sequence[TranscriptLine], at: float) -> None:
        """Append lines in order, each `uuid` once per part, and set the time of the last update.

        If the session does not exist, nothing is stored.
        """
        ...

    async def set_cost(self, id_: str, cost: float, at: float) -> None:
        """Set the total cost of a session and the time of its last update."""
        ...

    async def load_lines(self, id_: str) -> tuple[TranscriptLine, ...]:
        """Return all lines in the order in which they were appended."""
        ...

    async def acquire_lease(self, id_: str, holder: str, until: float, now: float) -> bool:
        """Acquire or renew the lease on a session; return whether `holder` has it."""
        ...

    async def release_lease(self, id_: str, holder: str) -> None:
        """Release the lease on a session, if `holder` has it."""
        ...

    async def delete_expired(self, before: float) -> int:
        """Delete sessions last updated before `before`; return how many."""
        ...
