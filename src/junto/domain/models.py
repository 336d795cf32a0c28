"""Models, their prices and their capabilities."""

from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum

from junto.domain.completions import Usage

_TOKENS_PER_PRICE_UNIT = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Prices in US dollars per million tokens. Cached input costs `input` unless given."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    # Pairs of a token count and a price, ascending: with more input tokens than that, the price
    # applies to all tokens of the request.
    tiers: tuple[tuple[int, "Price"], ...] = ()

    def cost(self, usage: Usage) -> Decimal:
        """Return the cost of `usage`."""
        for tokens, price in reversed(self.tiers):
            if usage.input_tokens > tokens:
                return price.cost(usage)
        plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return (
            plain * self.input
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + usage.output_tokens * self.output
        ) / _TOKENS_PER_PRICE_UNIT


class ReasoningStyle(StrEnum):
    """How reasoning is requested, which depends on the vendor and the model's generation."""

    ADAPTIVE = "adaptive"  # Claude: the model decides, within an effort level
    BUDGET = "budget"  # older Claude: a token budget
    EFFORT = "effort"  # OpenAI: an effort level
    NESTED = "nested"  # OpenRouter: an object with an effort level


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The features a model supports. Others are not sent, or rejected before the request."""

    images: bool = True
    documents: bool = True
    tools: bool = True
    schema: bool = True
    temperature: bool = True
    reasoning: ReasoningStyle | None = None
    # Some engines compile a schema into a grammar first, which can take longer than the answer.
    max_schema_chars: int | None = None

    def names(self) -> list[str]:
        """Return the names of the supported features."""
        names = (field.name for field in fields(self) if field.name != "max_schema_chars")
        return [name for name in names if getattr(self, name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as clients see it, without its API key and base URL."""

    id: str
    provider: str
    description: str | None = None
    context_window: int | None = None
    price: Price | None = None
    capabilities: Capabilities = Capabilities()
    is_default: bool = False
