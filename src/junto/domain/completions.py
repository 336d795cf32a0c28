"""Questions to a model, its answers, and the events that stream while it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from junto.domain.messages import Message, ToolCall
from junto.domain.usage import RequestOrigin

# No answer takes more. A provider that reports more is broken and must not distort the totals.
_MAX_TOKENS = 1_000_000_000


class Effort(StrEnum):
    """How much reasoning a model does before it answers."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to a model. Options that are None are left to the model."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int = 4096
    system: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    reasoning: Effort | None = None
    schema: Mapping[str, Any] | None = None
    seed: int | None = None
    cache_prompt: bool = False
    # For usage accounting; not part of the request.
    origin: RequestOrigin = RequestOrigin()  # noqa: RUF009 - frozen


class StopReason(StrEnum):
    """Why a model stopped generating."""

    END = "end"
    LENGTH = "length"
    TOOL_USE = "tool_use"
    REFUSAL = "refusal"
    PAUSE = "pause"
    CONTEXT_FULL = "context_full"


def clamp_token_count(value: Any) -> int:
    """Return a provider's token count within plausible bounds, or 0 if it is not an integer."""
    return min(max(value, 0), _MAX_TOKENS) if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that an answer used. Cached and reasoning tokens are included in the totals."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A model's complete answer."""

    message: Message
    stop_reason: StopReason
    usage: Usage
    model: str


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """A report before the answer starts: what it waits for, and the progress of that."""

    reason: str
    done: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A tool call by the model, with complete arguments."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """The complete answer; always the last event."""

    answer: Answer


Event = StatusEvent | TextDelta | ThinkingDelta | ToolCallEvent | AnswerEvent
