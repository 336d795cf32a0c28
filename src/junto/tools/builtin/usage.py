"""The tool `usage`: token usage, cost and remaining budgets."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.telemetry.usage_reports import (
    BudgetStatus,
    GroupBy,
    UsageGroup,
    UsageReports,
    parse_window_start,
)
from junto.tools.base import Arguments, Result
from junto.tools.services import ToolServices
from junto.tools.tool import READ_ONLY_HINTS, CallContext, Group, Tool

_DEFAULT_WINDOW = "30d"
_MAX_LINES = 50


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    if services.settings.usage.enabled:
        yield build_usage_tool(services.usage_reports)


class UsageArguments(Arguments):
    """Arguments of `usage`."""

    window: str = Field(
        _DEFAULT_WINDOW, max_length=20, description="Period, such as today, 24h, 7d."
    )
    by: GroupBy = Field(GroupBy.MODEL, description="How to group the figures.")


class UsageLine(Result):
    """The usage of one group, such as a model."""

    name: str
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    # Whether some calls have no known price, so that the actual cost is higher.
    partly_unpriced: bool

    @classmethod
    def from_line(cls, line: UsageGroup) -> "UsageLine":
        """Return the usage of a group."""
        totals = line.totals
        return cls(
            name=line.name,
            calls=totals.calls,
            failures=totals.failures,
            input_tokens=totals.input_tokens,
            output_tokens=totals.output_tokens,
            cost_usd=_round_usd(totals.cost),
            partly_unpriced=totals.unpriced > 0,
        )

    @override
    def text(self) -> str:
        """Return the usage as one line."""
        failed = f" ({self.failures} failed)" if self.failures else ""
        used = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        more = " and what has no known price" if self.partly_unpriced else ""
        return f"{self.name}: {self.calls:,} calls{failed}, {used}, ${self.cost_usd:g}{more}"


class BudgetLine(Result):
    """The state of a budget."""

    name: str
    period: str
    limit_usd: float
    left_usd: float

    @classmethod
    def from_status(cls, status: BudgetStatus) -> "BudgetLine":
        """Return the state of a budget."""
        account = status.account
        return cls(
            name=account.key,
            period=account.period,
            limit_usd=_round_usd(account.limit),
            left_usd=_round_usd(status.balance),
        )

    @override
    def text(self) -> str:
        """Return the budget as one line of a list."""
        return f"- {self.name} ({self.period}): ${self.left_usd:g} of ${self.limit_usd:g} left"


class UsageResult(Result):
    """Result of `usage`."""

    total: UsageLine
    lines: list[UsageLine]
    budgets: list[BudgetLine]

    @override
    def text(self) -> str:
        """Return the total, then one line per group and per budget."""
        budgets = ["Budgets:", *(budget.text() for budget in self.budgets)] if self.budgets else []
        lines = [f"- {line.text()}" for line in self.lines]
        return "\n".join([self.total.text(), *lines, *budgets])


def build_usage_tool(reports: UsageReports) -> Tool[UsageArguments]:
    """Build the `usage` tool."""

    async def run(arguments: UsageArguments, call: CallContext) -> UsageResult:
        since = parse_window_start(arguments.window, reports.now())
        lines = await reports.group_usage(arguments.by, since, call.caller)
        total = await reports.get_total(since, call.caller)
        return UsageResult(
            total=UsageLine.from_line(UsageGroup(arguments.window, total)),
            lines=[UsageLine.from_line(line) for line in lines[:_MAX_LINES]],
            budgets=[BudgetLine.from_status(status) for status in await reports.list_budgets()],
        )

    return Tool(
        name="usage",
        title="Usage",
        description="Show your calls, tokens and cost in a period, and what is left of budgets.",
        group=Group.OPS,
        arguments=UsageArguments,
        result=UsageResult,
        run=run,
        hints=READ_ONLY_HINTS,
        for_council=True,
    )


def _round_usd(amount: Decimal) -> float:
    return float(round(amount, 6))
