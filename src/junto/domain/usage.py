"""Usage of tools and models by caller, and the protocol of its store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """The caller and the tool that a request comes from."""

    caller: str = "local"
    tool: str = ""


@dataclass(frozen=True, slots=True)
class UsageKey:
    """The key that usage is totalled by. Tool calls have no model."""

    bucket_start: int  # start of the time bucket, in seconds since 1970
    caller: str
    tool: str
    model: str = ""
    provider: str = ""


class UsageDimension(StrEnum):
    """A dimension that totals can be grouped by: the fields of a UsageKey."""

    BUCKET_START = "begun"
    CALLER = "caller"
    TOOL = "tool"
    MODEL = "model"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    """Usage totals."""

    # Tool calls, and how many of them failed.
    calls: int = 0
    failures: int = 0
    # Questions to models, and how many of them were not answered completely.
    questions: int = 0
    unanswered: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    # Questions whose price is unknown; their cost is missing in `cost`.
    unpriced: int = 0

    def __add__(self, other: "UsageTotals") -> "UsageTotals":
        return UsageTotals(
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
        """Return the sum of input and output tokens."""
        return self.input_tokens + self.output_tokens


# The values of the requested dimensions, in the requested order.
UsageGroupKey = tuple[str | int, ...]


class UsageStore(Protocol):
    """A store of usage totals, shared by all servers that use the same database."""

    async def add(self, totals: Mapping[UsageKey, UsageTotals]) -> None:
        """Add to the stored totals, in one transaction."""
        ...

    async def load_totals(
        self, by: Sequence[UsageDimension], since: float, until: float, caller: str | None = None
    ) -> dict[UsageGroupKey, UsageTotals]:
        """Return totals from `since` until `until`, of one or all callers, grouped by `by`."""
        ...

    async def delete_expired(self, before: float) -> int:
        """Delete totals older than `before`; return how many."""
        ...
