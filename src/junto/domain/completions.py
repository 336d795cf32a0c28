"""A question to a model, and what comes back, piece by piece and as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from junto.domain.messages import Message, ToolCall
from junto.domain.usage import Origin


class Effort(StrEnum):
    """How long a model may think before it speaks."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may ask for."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything a model is asked; what is None is left to the model."""

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
    # For whoever keeps count; no part of what is asked.
    origin: Origin = Origin()  # noqa: RUF009 - frozen


class StopReason(StrEnum):
    """Why a model stopped speaking."""

    END = "end"
    LENGTH = "length"
    TOOL_USE = "tool_use"
    REFUSAL = "refusal"
    PAUSE = "pause"
    CONTEXT_FULL = "context_full"


# No answer takes more; whoever says so is broken, and must not break our sums.
_MOST_TOKENS = 1_000_000_000


def counted(tokens: Any) -> int:
    """Return a number of tokens that a provider tells, if it can be one."""
    return min(max(tokens, 0), _MOST_TOKENS) if isinstance(tokens, int) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer took, in tokens; the cached and reasoning ones are part of the totals."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model said in the end."""

    message: Message
    stop: StopReason
    usage: Usage
    model: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing of the answer yet: this is what it waits for, and how far that is."""

    reason: str
    done: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A few more words."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A few more words of what the model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallMade:
    """The model has asked for a tool, with all its arguments."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete; nothing follows."""

    answer: Answer


Event = Waiting | TextDelta | ThinkingDelta | ToolCallMade | Finished
