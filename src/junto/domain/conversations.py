"""Conversations: lines of messages that may branch off from each other, and who keeps them."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from junto.domain.messages import Message
from junto.domain.questions import Usage

# Who talks in the terminal, or through a client that has started the server.
LOCAL_OWNER = "local"


class Status(StrEnum):
    """Whether a conversation is shown."""

    ACTIVE = "active"
    DELETED = "deleted"  # kept only because others branch off from it


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a conversation: where it stands, who said it and what that took."""

    position: int
    message: Message
    at: float
    # For a model's turn. What it thought may be shown again only to the same provider.
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A line of messages under a name; the first `inherited` of them are its parent's."""

    id: str
    owner: str
    model: str
    title: str = ""
    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    parent: str | None = None
    inherited: int = 0
    length: int = 0
    created: float = 0.0
    updated: float = 0.0

    def branch(
        self, id_: str, at: float, length: int | None = None, **changes: Any
    ) -> "Conversation":
        """Return a new conversation that shares the first `length` messages with this one."""
        shared = self.length if length is None else max(0, min(length, self.length))
        return replace(
            self,
            id=id_,
            parent=self.id,
            inherited=shared,
            length=shared,
            created=at,
            updated=at,
            **changes,
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Some conversations, and where the next ones begin."""

    conversations: tuple[Conversation, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody else has gone on with the conversation meanwhile; it is this long now."""

    length: int


class ConversationStore(Protocol):
    """Keeps conversations; every change is whole or does not happen at all."""

    async def find(self, owner: str, id_: str) -> Conversation | None:
        """Return a conversation that is there for `owner`."""
        ...

    async def said(
        self, owner: str, id_: str, first: int = 0, last: int | None = None
    ) -> tuple[Said, ...]:
        """Return the messages from `first` up to but not including `last`."""
        ...

    async def keep(self, conversation: Conversation, turn: tuple[Said, ...]) -> Conflict | None:
        """Add a turn at the end of `conversation`, which may be new, in one step.

        `conversation` is as its caller has seen it. If it has grown since, nothing is changed.
        """
        ...

    async def change(self, conversation: Conversation) -> bool:
        """Keep another title, system prompt or settings; return whether it is there."""
        ...

    async def touch(self, owner: str, id_: str, at: float) -> None:
        """Note that somebody has looked at it, so that it does not expire."""
        ...

    async def listed(
        self, owner: str, text: str | None, limit: int, cursor: str | None = None
    ) -> Page:
        """Return conversations, the latest first; with `text`, those that have it in their title.

        Raises:
            InvalidInputError: the cursor is none of ours.
        """
        ...

    async def delete(self, owner: str, id_: str) -> bool:
        """Delete a conversation; what others share with it stays for them."""
        ...

    async def sweep(self, idle_since: float) -> int:
        """Delete what nobody has touched since then, and return how many that were."""
        ...

    async def count(self) -> int:
        """Return how many conversations there are."""
        ...

    def everything(self, owner: str) -> AsyncIterator[tuple[Conversation, tuple[Said, ...]]]:
        """Yield each conversation with its own messages, parents before their branches."""
        ...
