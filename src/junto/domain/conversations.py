"""Conversations, which may branch off from each other, and the protocol of their store."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from junto.domain.completions import Usage
from junto.domain.messages import Message

# The owner in the terminal, and of a client that started the server itself.
LOCAL_OWNER = "local"


class ConversationStatus(StrEnum):
    """Whether a conversation is visible."""

    ACTIVE = "active"
    DELETED = "deleted"  # stored only because other conversations branch off from it


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message of a conversation: its position, its author, its usage and its cost."""

    position: int
    message: Message
    at: float
    # Set for a model's message. Its reasoning may be sent back to the same provider only.
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation. The first `inherited` of its messages are stored with its parent."""

    id: str
    owner: str
    model: str
    title: str = ""
    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    status: ConversationStatus = ConversationStatus.ACTIVE
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
class ConversationPage:
    """A page of conversations, and the cursor of the next page if there is one."""

    conversations: tuple[Conversation, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """The conversation was changed concurrently; `length` is its current length."""

    length: int


class ConversationStore(Protocol):
    """A store of conversations. Every change is atomic."""

    async def find(self, owner: str, id_: str) -> Conversation | None:
        """Return an active conversation of `owner`."""
        ...

    async def load_messages(
        self, owner: str, id_: str, first: int = 0, last: int | None = None
    ) -> tuple[StoredMessage, ...]:
        """Return the messages from `first` up to but not including `last`."""
        ...

    async def save_turn(
        self, conversation: Conversation, turn: tuple[StoredMessage, ...]
    ) -> Conflict | None:
        """Append a turn to `conversation`, which may be new, in one transaction.

        `conversation` is the state that the caller has read. If it has changed since, nothing is
        saved.
        """
        ...

    async def update(self, conversation: Conversation) -> bool:
        """Save a new title, system prompt, model or settings; return whether it exists."""
        ...

    async def touch(self, owner: str, id_: str, at: float) -> None:
        """Record an access, so that the conversation does not expire."""
        ...

    async def list_conversations(
        self, owner: str, text: str | None, limit: int, cursor: str | None = None
    ) -> ConversationPage:
        """Return conversations, latest first; with `text`, those with it in their title.

        Raises:
            InvalidInputError: the cursor is invalid.
        """
        ...

    async def delete(self, owner: str, id_: str) -> bool:
        """Delete a conversation; return whether it existed.

        Messages that its branches share stay available to them.
        """
        ...

    async def delete_expired(self, idle_since: float) -> int:
        """Delete conversations not accessed since `idle_since`; return how many."""
        ...

    async def count(self) -> int:
        """Return the number of active conversations."""
        ...

    def iter_all(self, owner: str) -> AsyncIterator[tuple[Conversation, tuple[StoredMessage, ...]]]:
        """Yield each conversation with its own messages, parents before their branches."""
        ...
