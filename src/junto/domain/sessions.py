"""Sessions: conversations with an agent, and who keeps their transcripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation with an agent that can be gone on with."""

    id: str  # the agent's own, a UUID with dashes
    owner: str
    cwd: str
    cost: float  # US dollars spent in it so far
    created: float
    updated: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a transcript; the part is where it belongs, "" for the main one."""

    part: str  # such as "subagents/agent-x"
    text: str  # one JSON object
    uuid: str | None  # its identity, if it has one: a line is kept once


class SessionStore(Protocol):
    """Keeps the transcripts of sessions, for all servers that share it."""

    async def begin(self, session: Session) -> None:
        """Note a session; one that is known takes the new directory, cost and time, no more.

        One that belongs to another owner stays as it is.
        """
        ...

    async def find(self, owner: str, id_: str) -> Session | None:
        """Return a session of `owner`."""
        ...

    async def append(self, id_: str, lines: Sequence[Line], at: float) -> None:
        """Add lines in their order, each identity once per part, and note the time.

        For a session that nobody has begun, nothing is kept.
        """
        ...

    async def spent(self, id_: str, cost: float, at: float) -> None:
        """Set what a session has cost so far, and note the time."""
        ...

    async def lines(self, id_: str) -> tuple[Line, ...]:
        """Return all lines, in the order in which they were added."""
        ...

    async def hold(self, id_: str, holder: str, until: float, now: float) -> bool:
        """Have a session for `holder` alone until then; tell whether nobody else has it."""
        ...

    async def release(self, id_: str, holder: str) -> None:
        """Let go of a session, if `holder` has it."""
        ...

    async def sweep(self, before: float) -> int:
        """Forget sessions that nobody has touched since then, and return how many that were."""
        ...
