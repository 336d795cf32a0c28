"""What is known about a model that can be asked."""

from dataclasses import dataclass
from enum import StrEnum


class ReasoningStyle(StrEnum):
    """How a model is told to think, which differs by its maker and its age."""

    ADAPTIVE = "adaptive"  # Claude: it decides, within an effort
    BUDGET = "budget"  # older Claude: a number of tokens
    EFFORT = "effort"  # OpenAI: one word
    NESTED = "nested"  # OpenRouter: an object


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a model can take; what it cannot is not sent, or refused before it is asked."""

    images: bool = True
    documents: bool = True
    tools: bool = True
    schema: bool = True
    temperature: bool = True
    reasoning: ReasoningStyle | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as its users see it: never its key or its address."""

    id: str
    provider: str
    description: str | None = None
    context_window: int | None = None
    default: bool = False
