"""What models cost."""

from dataclasses import dataclass
from decimal import Decimal

from junto.domain.questions import Usage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost, in US dollars; what is cached costs as the rest unless said."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    # Whoever sends more than so many tokens pays another price for all of them.
    above: tuple[tuple[int, "Price"], ...] = ()

    def cost(self, usage: Usage) -> Decimal:
        """Return what `usage` costs."""
        for tokens, price in reversed(self.above):
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
        ) / _MILLION
