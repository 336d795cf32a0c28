"""The tool `usage`: what was used, and what is left of budgets."""

from decimal import Decimal

from pydantic import Field
from typing_extensions import override

from junto.telemetry.reports import By, Line, Standing, UsageReports, beginning
from junto.tools.tool import HARMLESS, Arguments, Call, Group, Result, Tool

_WINDOW = "30d"
_MOST = 50


class UsageArguments(Arguments):
    """Arguments of `usage`."""

    window: str = Field(_WINDOW, max_length=20, description="Such as today, 24h, 7d.")
    by: By = By.MODEL


class UsageLine(Result):
    """What was used under one name."""

    name: str
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    # Whether some of it has no known price, so that it costs more.
    partly_unpriced: bool

    @classmethod
    def of(cls, line: Line) -> "UsageLine":
        """Return a line as a caller sees it."""
        amount = line.amount
        return cls(
            name=line.name,
            calls=amount.calls,
            failures=amount.failures,
            input_tokens=amount.input_tokens,
            output_tokens=amount.output_tokens,
            cost_usd=_rounded(amount.cost),
            partly_unpriced=amount.unpriced > 0,
        )

    @override
    def text(self) -> str:
        """Return it as one line of a list."""
        failed = f" ({self.failures} failed)" if self.failures else ""
        used = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        more = " and what has no known price" if self.partly_unpriced else ""
        return f"{self.name}: {self.calls:,} calls{failed}, {used}, ${self.cost_usd:g}{more}"


class BudgetLeft(Result):
    """How a budget stands."""

    name: str
    period: str
    limit_usd: float
    left_usd: float

    @classmethod
    def of(cls, standing: Standing) -> "BudgetLeft":
        """Return a budget as a caller sees it."""
        account = standing.account
        return cls(
            name=account.key,
            period=account.period,
            limit_usd=_rounded(account.limit),
            left_usd=_rounded(standing.left),
        )

    @override
    def text(self) -> str:
        """Return it as one line of a list."""
        return f"- {self.name} ({self.period}): ${self.left_usd:g} of ${self.limit_usd:g} left"


class UsageReport(Result):
    """Result of `usage`."""

    total: UsageLine
    lines: list[UsageLine]
    budgets: list[BudgetLeft]

    @override
    def text(self) -> str:
        """Return the whole first, then its parts."""
        left = ["Budgets:", *(budget.text() for budget in self.budgets)] if self.budgets else []
        parts = [f"- {line.text()}" for line in self.lines]
        return "\n".join([self.total.text(), *parts, *left])


def usage(reports: UsageReports) -> Tool[UsageArguments]:
    """Return the tool that tells a caller what they used."""

    async def run(arguments: UsageArguments, call: Call) -> UsageReport:
        since = beginning(arguments.window, reports.now())
        lines = await reports.lines(arguments.by, since, call.caller)
        total = await reports.total(since, call.caller)
        return UsageReport(
            total=UsageLine.of(Line(arguments.window, total)),
            lines=[UsageLine.of(line) for line in lines[:_MOST]],
            budgets=[BudgetLeft.of(standing) for standing in await reports.budgets()],
        )

    return Tool(
        name="usage",
        title="Usage",
        description="What you used, and what is left of budgets.",
        group=Group.OPS,
        arguments=UsageArguments,
        result=UsageReport,
        run=run,
        hints=HARMLESS,
    )


def _rounded(amount: Decimal) -> float:
    return float(round(amount, 6))
