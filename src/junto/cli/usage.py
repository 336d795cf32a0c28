"""`junto usage`: what was used, as tables with bars, as JSON and as CSV."""

import asyncio
import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import click

from junto.app import Junto, running
from junto.cli.bars import bar
from junto.cli.table import show
from junto.domain.limits import Period
from junto.domain.usage import Amount
from junto.settings import Loaded
from junto.telemetry.reports import By, Line, Standing, beginning

_BAR = 20
_PERIODS = {Period.DAY: "today", Period.MONTH: "this month", Period.EVER: "in all"}


@dataclass(frozen=True, slots=True)
class _Found:
    """What a report is made of."""

    since: float
    total: Amount
    parts: Mapping[By, tuple[Line, ...]]
    budgets: tuple[Standing, ...]


def usage(loaded: Loaded, window: str, by: str | None, form: str | None) -> None:
    """Print what was used."""
    wanted = (By(by),) if by else (By.DAY,) if form == "csv" else tuple(By)
    with running(loaded, default_level="error") as junto:
        found = asyncio.run(_found(junto, window, wanted))
    if form == "json":
        click.echo(json.dumps(_facts(found), indent=2))
    elif form == "csv":
        _write_csv(found)
    else:
        _tell(found, window, all_of=by is None)
        if not loaded.settings.usage.enabled:
            click.echo("Nothing is counted now: usage.enabled is off.", err=True)


async def _found(junto: Junto, window: str, wanted: Sequence[By]) -> _Found:
    reports = junto.counting.reports
    since = beginning(window, reports.now())
    async with junto.alone():
        return _Found(
            since,
            await reports.total(since),
            {by: await reports.lines(by, since) for by in wanted},
            await reports.budgets(),
        )


def _tell(found: _Found, window: str, *, all_of: bool) -> None:
    total = found.total
    if total == Amount():
        click.echo(f"Nothing was used since {_day(found.since)}.")
    else:
        failed = f" ({total.failures:,} failed)" if total.failures else ""
        tokens = f"{_short(total.input_tokens)} tokens in, {_short(total.output_tokens)} out"
        # A stretch is told as it was asked for; "today" and days say more as dates.
        click.echo(
            f"Since {_day(found.since)} ({window}): {total.calls:,} calls{failed}, "
            f"{total.questions:,} questions to models, {tokens}, {_money(total)}"
        )
    for by, lines in found.parts.items():
        # One caller, as on a laptop, is no news.
        if lines and not (all_of and by is By.CALLER and len(lines) == 1):
            click.echo()
            _show(by, lines)
    for standing in found.budgets:
        click.echo(f"\n{_budget(standing)}")
    if total.unpriced:
        click.echo(
            f"+ Of {total.unpriced:,} questions nobody knows the price; they cost more than that.",
            err=True,
        )


def _show(by: By, lines: Sequence[Line]) -> None:
    priced = any(line.amount.cost for line in lines)
    weights = [_weight(line.amount, by, priced=priced) for line in lines]
    most = max(weights) or Decimal(1)
    name, *numbers = head = (by.upper(), "CALLS", "FAILED", "TOKENS IN", "TOKENS OUT", "COST", "")
    rows = (
        (*_row(by, line), bar(float(weight / most), _BAR))
        for line, weight in zip(lines, weights, strict=True)
    )
    show([head, *rows], right=numbers[:-1], shorten=(name,), drop=("",))


def _row(by: By, line: Line) -> tuple[str, ...]:
    amount = line.amount
    calls, failures = _counted(by, amount)
    return (
        line.name,
        f"{calls:,}",
        f"{failures:,}" if failures else "",
        _short(amount.input_tokens),
        _short(amount.output_tokens),
        _money(amount),
    )


def _counted(by: By, amount: Amount) -> tuple[int, int]:
    """Return calls and failures; a model's are the questions that it got."""
    if by is By.MODEL:
        return amount.questions, amount.unanswered
    return amount.calls, amount.failures


def _weight(amount: Amount, by: By, *, priced: bool) -> Decimal:
    """Return what a bar shows: money, or tokens where there is none, or calls."""
    if priced:
        return amount.cost
    return Decimal(amount.tokens or 0) if by is not By.TOOL else Decimal(amount.calls)


def _budget(standing: Standing) -> str:
    account = standing.account
    share = float(standing.spent / account.limit) if account.limit else 1.0
    return (
        f"Budget: ${standing.spent:,.2f} of ${account.limit:,.2f} spent "
        f"{_PERIODS[account.period]}, ${standing.left:,.2f} left  {bar(share, _BAR)}"
    )


def _facts(found: _Found) -> dict[str, Any]:
    return {
        "since": datetime.fromtimestamp(found.since).astimezone().isoformat(),
        "total": _numbers(found.total),
        "by": {
            by.value: [{by.value: line.name, **_numbers(line.amount)} for line in lines]
            for by, lines in found.parts.items()
        },
        "budgets": [
            {
                "name": standing.account.key,
                "period": standing.account.period.value,
                "limitUsd": float(standing.account.limit),
                "spentUsd": float(standing.spent),
                "leftUsd": float(standing.left),
            }
            for standing in found.budgets
        ],
    }


def _numbers(amount: Amount) -> dict[str, int | float]:
    return {
        "calls": amount.calls,
        "failures": amount.failures,
        "questions": amount.questions,
        "unanswered": amount.unanswered,
        "inputTokens": amount.input_tokens,
        "outputTokens": amount.output_tokens,
        "costUsd": float(amount.cost),
        "unpriced": amount.unpriced,
    }


def _write_csv(found: _Found) -> None:
    ((by, lines),) = found.parts.items()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([by.value, *_numbers(Amount())])
    writer.writerows([line.name, *_numbers(line.amount).values()] for line in lines)


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def _short(count: int) -> str:
    """Return a number of tokens as people say it: 950, 12.3k, 4.5M."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}"
    return str(count)


def _money(amount: Amount) -> str:
    """Return what it cost; a + says that it was more."""
    more = "+" if amount.unpriced else ""
    if not amount.cost:
        return f"?{more}" if more else "$0"
    cents = f"{amount.cost:,.2f}" if amount.cost >= 1 else f"{amount.cost:.4f}"
    return f"${cents}{more}"
