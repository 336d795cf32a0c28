"""What people and models say to each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Who is speaking."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Text:
    """Plain words."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, whole."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Document:
    """A document that the model reads itself, such as a PDF."""

    mime_type: str
    data: bytes
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model thought before it spoke.

    Some providers want it back unchanged in the next turn: signed, or sealed so that nobody but
    they can read it. Both are opaque to us and mean nothing to another provider.
    """

    text: str = ""
    signature: str | None = None
    sealed: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool that a model asked for."""

    call_id: str
    content: tuple[Text | Image, ...]
    is_error: bool = False


Part = Text | Image | Document | Thinking | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of one side, in parts."""

    role: Role
    parts: tuple[Part, ...]

    @classmethod
    def user(cls, *parts: Part | str) -> "Message":
        """Return a turn of the user; a string is plain words."""
        return cls(Role.USER, _parts(parts))

    @classmethod
    def assistant(cls, *parts: Part | str) -> "Message":
        """Return a turn of the model; a string is plain words."""
        return cls(Role.ASSISTANT, _parts(parts))

    @property
    def text(self) -> str:
        """Return the plain words in it, without thoughts and tools."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> str:
        """Return what the model thought, as far as it may be read."""
        return "".join(part.text for part in self.parts if isinstance(part, Thinking))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tools that it asks for."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


def _parts(parts: tuple[Part | str, ...]) -> tuple[Part, ...]:
    return tuple(Text(part) if isinstance(part, str) else part for part in parts)
