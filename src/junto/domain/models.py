"""What is known about a model that can be asked."""

from dataclasses import dataclass, fields
from enum import StrEnum

from junto.domain.prices import Price


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
    # Some engines turn a schema into a grammar first, which can take longer than any answer.
    largest_schema: int | None = None

    def names(self) -> list[str]:
        """Return what it can take beyond words."""
        named = (field.name for field in fields(self) if field.name != "largest_schema")
        return [name for name in named if getattr(self, name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as its users see it: never its key or its address."""

    id: str
    provider: str
    description: str | None = None
    context_window: int | None = None
    price: Price | None = None
    capabilities: Capabilities = Capabilities()
    default: bool = False
