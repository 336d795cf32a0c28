"""What was used: by whom, with what and how much, and who keeps the sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks, and with what."""

    caller: str = "local"
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What a sum stands under; calls of tools have no model."""

    begun: int  # the stretch of time, by its first second since 1970
    caller: str
    tool: str
    model: str = ""
    provider: str = ""


class Dimension(StrEnum):
    """What sums can be broken down by: the parts of a heading."""

    BEGUN = "begun"
    CALLER = "caller"
    TOOL = "tool"
    MODEL = "model"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much was used."""

    # Calls of tools, and how many of them failed.
    calls: int = 0
    failures: int = 0
    # Questions to models, and how many of them were not answered to the end.
    questions: int = 0
    unanswered: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    # Questions whose price nobody knows: all of it costs more than the cost.
    unpriced: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            calls=self.calls + other.calls,
            failures=self.failures + other.failures,
            questions=self.questions + other.questions,
            unanswered=self.unanswered + other.unanswered,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=self.cost + other.cost,
            unpriced=self.unpriced + other.unpriced,
        )

    @property
    def tokens(self) -> int:
        """Return all tokens, in and out."""
        return self.input_tokens + self.output_tokens


# The values of the dimensions that were asked for, in that order.
Place = tuple[str | int, ...]


class UsageStore(Protocol):
    """Keeps sums, for all servers that share it."""

    async def add(self, sums: Mapping[Heading, Amount]) -> None:
        """Add to the sums, all or none."""
        ...

    async def sums(
        self, by: Sequence[Dimension], since: float, until: float, caller: str | None = None
    ) -> dict[Place, Amount]:
        """Return what was used in between, of one caller or of all, broken down."""
        ...

    async def sweep(self, before: float) -> int:
        """Forget what is older, and return how many sums that were."""
        ...
