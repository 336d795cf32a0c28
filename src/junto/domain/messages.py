"""Messages between users and models, and the parts they consist of."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document that the model reads itself, such as a PDF."""

    mime_type: str
    data: bytes
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """A model's reasoning before its answer.

    Some providers require it back unchanged in the next turn, signed or encrypted. Both forms are
    opaque to Junto, and other providers do not accept them.
    """

    text: str = ""
    signature: str | None = None
    encrypted_content: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call requested by a model."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    call_id: str
    content: tuple[TextPart | ImagePart, ...]
    is_error: bool = False


Part = TextPart | ImagePart | DocumentPart | ThinkingPart | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the user or of the model, as a sequence of parts."""

    role: Role
    parts: tuple[Part, ...]

    @classmethod
    def user(cls, *parts: Part | str) -> "Message":
        """Return a user message; strings become text parts."""
        return cls(Role.USER, _to_parts(parts))

    @classmethod
    def assistant(cls, *parts: Part | str) -> "Message":
        """Return a model message; strings become text parts."""
        return cls(Role.ASSISTANT, _to_parts(parts))

    @property
    def text(self) -> str:
        """Return the joined text parts, without reasoning and tool calls."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        """Return the joined reasoning, as far as it is readable."""
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls in the message."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


def _to_parts(parts: tuple[Part | str, ...]) -> tuple[Part, ...]:
    return tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
