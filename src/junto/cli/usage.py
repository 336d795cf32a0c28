"""`junto usage`: usage, cost and budgets as tables with bars, JSON or CSV."""

import asyncio
import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import click

from junto.app.application import Application, build_app
from junto.cli.table import print_table
from junto.cli.terminal_text import get_max_columns, print_stderr, wrap_text
from junto.domain.limits import Period
from junto.domain.usage import UsageTotals
from junto.settings import LoadedSettings
from junto.telemetry.usage_reports import BudgetStatus, GroupBy, UsageGroup, parse_window_start

# The width of bars in terminals narrower than `_WIDE_TERMINAL_COLUMNS`, and in others.
_NARROW_BAR_COLUMNS, _WIDE_BAR_COLUMNS, _WIDE_TERMINAL_COLUMNS = 12, 20, 100
_PERIOD_LABELS = {Period.DAY: "today", Period.MONTH: "this month", Period.EVER: "in all"}
_EIGHTH_BLOCKS = " ▏▎▍▌▋▊▉"
_FULL_BLOCK = "█"
_ASCII_BLOCK = "#"


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """Usage since a point in time, in total and by group, and the status of budgets."""

    since: float
    total: UsageTotals
    breakdowns: Mapping[GroupBy, tuple[UsageGroup, ...]]
    budgets: tuple[BudgetStatus, ...]


def print_usage(
    loaded: LoadedSettings, window: str, by: str | None, output_format: str | None
) -> None:
    """Print the usage of a time window."""
    groupings = (
        (GroupBy(by),) if by else (GroupBy.DAY,) if output_format == "csv" else tuple(GroupBy)
    )
    with build_app(loaded, default_level="error") as junto:
        summary = asyncio.run(_collect_summary(junto, window, groupings))
    if output_format == "json":
        click.echo(_format_json(summary))
    elif output_format == "csv":
        click.echo(_format_csv(summary), nl=False)
    else:
        _print_summary(summary, window, all_groupings=by is None)
        if not loaded.settings.usage.enabled:
            print_stderr("Nothing is counted now: usage.enabled is off.")


async def _collect_summary(
    junto: Application, window: str, groupings: Sequence[GroupBy]
) -> UsageSummary:
    reports = junto.usage.reports
    since = parse_window_start(window, reports.now())
    async with junto.open(background=False):
        return UsageSummary(
            since,
            await reports.get_total(since),
            {by: await reports.group_usage(by, since) for by in groupings},
            await reports.list_budgets(),
        )


def _print_summary(summary: UsageSummary, window: str, *, all_groupings: bool) -> None:
    total = summary.total
    if total == UsageTotals():
        click.echo(f"Nothing was used since {_format_time(summary.since)}.")
    else:
        failed = f" ({total.failures:,} failed)" if total.failures else ""
        calls = _format_count(total.calls, "call")
        questions = _format_count(total.questions, "question")
        tokens = (
            f"{_format_tokens(total.input_tokens)} tokens in, "
            f"{_format_tokens(total.output_tokens)} out"
        )
        _print_wrapped(
            f"Since {_format_time(summary.since)} ({window}): {calls}{failed}, "
            f"{questions} to models, {tokens}, {_format_cost(total)}"
        )
    for by, groups in summary.breakdowns.items():
        # A breakdown by caller is useless if there is only one, as on a laptop.
        if groups and not (all_groupings and by is GroupBy.CALLER and len(groups) == 1):
            click.echo()
            _print_breakdown(by, groups)
    for budget in summary.budgets:
        click.echo()
        _print_wrapped(_format_budget(budget))
    if total.unpriced:
        unpriced = _format_count(total.unpriced, "question")
        print_stderr(f"+ The price of {unpriced} is not known, so it was more than that.")


def _print_wrapped(text: str) -> None:
    """Print text to standard output, wrapped to the width of a terminal."""
    click.echo(wrap_text(text, get_max_columns(sys.stdout)))


def _print_breakdown(by: GroupBy, groups: Sequence[UsageGroup]) -> None:
    has_costs = any(group.totals.cost for group in groups)
    values = [_get_bar_value(group.totals, by, has_costs=has_costs) for group in groups]
    max_value = max(values) or Decimal(1)
    name, *numbers = header = (by.upper(), "CALLS", "FAILED", "TOKENS IN", "TOKENS OUT", "COST", "")
    columns = _get_bar_columns()
    rows = (
        (*_build_row(group), format_bar(float(value / max_value), columns))
        for group, value in zip(groups, values, strict=True)
    )
    print_table([header, *rows], align_right=numbers[:-1], shorten=(name,), drop=("",))


def _get_bar_columns() -> int:
    width = get_max_columns(sys.stdout)
    return _NARROW_BAR_COLUMNS if width and width < _WIDE_TERMINAL_COLUMNS else _WIDE_BAR_COLUMNS


def _build_row(group: UsageGroup) -> tuple[str, ...]:
    totals = group.totals
    return (
        group.name,
        f"{totals.calls:,}",
        f"{totals.failures:,}" if totals.failures else "",
        _format_tokens(totals.input_tokens),
        _format_tokens(totals.output_tokens),
        _format_cost(totals),
    )


def _get_bar_value(totals: UsageTotals, by: GroupBy, *, has_costs: bool) -> Decimal:
    """Return the value of a bar: the cost; without any costs, tokens or (for tools) calls."""
    if has_costs:
        return totals.cost
    return Decimal(totals.tokens or 0) if by is not GroupBy.TOOL else Decimal(totals.calls)


def _format_budget(budget: BudgetStatus) -> str:
    account = budget.account
    share = float(budget.spent / account.limit) if account.limit else 1.0
    bar = format_bar(share, _get_bar_columns())
    return (
        f"Budget: ${budget.spent:,.2f} of ${account.limit:,.2f} spent "
        f"{_PERIOD_LABELS[account.period]}, ${budget.balance:,.2f} left  {bar}"
    )


def _format_time(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp).astimezone().strftime("%Y-%m-%d %H:%M")


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _format_tokens(count: int) -> str:
    """Return a number of tokens in short form: 950, 12.3k, 4.5M."""
    for size, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")):
        if count >= size:
            return f"{count / size:.1f}{suffix}"
    return str(count)


def _format_cost(totals: UsageTotals) -> str:
    """Return the cost in USD; a trailing + marks usage without a known price."""
    plus = "+" if totals.unpriced else ""
    if not totals.cost:
        return "?" if plus else "$0"
    amount = f"{totals.cost:,.2f}" if totals.cost >= 1 else f"{totals.cost:.4f}"
    return f"${amount}{plus}"


def format_bar(fraction: float, columns: int) -> str:
    """Return a bar that fills `fraction` of `columns`; any fraction above 0 is visible."""
    fraction = min(max(fraction, 0.0), 1.0)
    if not _can_encode(_EIGHTH_BLOCKS):
        return _ASCII_BLOCK * max(round(fraction * columns), int(fraction > 0))
    eighths = max(round(fraction * columns * 8), int(fraction > 0))
    return (_FULL_BLOCK * (eighths // 8) + _EIGHTH_BLOCKS[eighths % 8]).rstrip()


def _can_encode(characters: str) -> bool:
    try:
        characters.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _format_json(summary: UsageSummary) -> str:
    """Return a usage summary as JSON."""
    facts = {
        "since": datetime.fromtimestamp(summary.since).astimezone().isoformat(),
        "total": _totals_to_dict(summary.total),
        "by": {
            by.value: [{by.value: group.name, **_totals_to_dict(group.totals)} for group in groups]
            for by, groups in summary.breakdowns.items()
        },
        "budgets": [
            {
                "name": budget.account.key,
                "period": budget.account.period.value,
                "limitUsd": float(budget.account.limit),
                "spentUsd": float(budget.spent),
                "leftUsd": float(budget.balance),
            }
            for budget in summary.budgets
        ],
    }
    return json.dumps(facts, indent=2)


def _totals_to_dict(totals: UsageTotals) -> dict[str, int | float]:
    return {
        "calls": totals.calls,
        "failures": totals.failures,
        "questions": totals.questions,
        "unanswered": totals.unanswered,
        "inputTokens": totals.input_tokens,
        "outputTokens": totals.output_tokens,
        "costUsd": float(totals.cost),
        "unpriced": totals.unpriced,
    }


def _format_csv(summary: UsageSummary) -> str:
    """Return the single breakdown of a usage summary as CSV."""
    ((by, groups),) = summary.breakdowns.items()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([by.value, *_totals_to_dict(UsageTotals())])
    writer.writerows(
        [_escape_formula(group.name), *_totals_to_dict(group.totals).values()] for group in groups
    )
    return text.getvalue()


def _escape_formula(name: str) -> str:
    """Quote a name that a spreadsheet would evaluate as a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name
