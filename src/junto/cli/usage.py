"""`junto usage`: what was used, as tables with bars for people."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import click

from junto.app import Junto, running
from junto.cli.bars import bar
from junto.cli.table import show
from junto.cli.usage_data import Report, as_csv, as_json
from junto.cli.writing import room_of, say, wrapped
from junto.domain.limits import Period
from junto.domain.usage import Amount
from junto.settings import Loaded
from junto.telemetry.reports import By, Line, Standing, beginning

# A bar in a terminal of eighty columns, and elsewhere.
_SHORT, _LONG, _WIDE = 12, 20, 100
_PERIODS = {Period.DAY: "today", Period.MONTH: "this month", Period.EVER: "in all"}


def usage(loaded: Loaded, window: str, by: str | None, form: str | None) -> None:
    """Print what was used."""
    wanted = (By(by),) if by else (By.DAY,) if form == "csv" else tuple(By)
    with running(loaded, default_level="error") as junto:
        found = asyncio.run(_found(junto, window, wanted))
    if form == "json":
        click.echo(as_json(found))
    elif form == "csv":
        click.echo(as_csv(found), nl=False)
    else:
        _tell(found, window, all_of=by is None)
        if not loaded.settings.usage.enabled:
            say("Nothing is counted now: usage.enabled is off.")


async def _found(junto: Junto, window: str, wanted: Sequence[By]) -> Report:
    reports = junto.counting.reports
    since = beginning(window, reports.now())
    async with junto.alone():
        return Report(
            since,
            await reports.total(since),
            {by: await reports.lines(by, since) for by in wanted},
            await reports.budgets(),
        )


def _tell(found: Report, window: str, *, all_of: bool) -> None:
    total = found.total
    if total == Amount():
        click.echo(f"Nothing was used since {_day(found.since)}.")
    else:
        failed = f" ({total.failures:,} failed)" if total.failures else ""
        tokens = f"{_short(total.input_tokens)} tokens in, {_short(total.output_tokens)} out"
        _print(
            f"Since {_day(found.since)} ({window}): {_many(total.calls, 'call')}{failed}, "
            f"{_many(total.questions, 'question')} to models, {tokens}, {_money(total)}"
        )
    for by, lines in found.parts.items():
        # One caller, as on a laptop, is no news.
        if lines and not (all_of and by is By.CALLER and len(lines) == 1):
            click.echo()
            _show(by, lines)
    for standing in found.budgets:
        click.echo()
        _print(_budget(standing))
    if total.unpriced:
        unknown = _many(total.unpriced, "question")
        say(f"+ The price of {unknown} is not known, so it was more than that.")


def _print(text: str) -> None:
    """Print a sentence; in a terminal no word is cut by its edge."""
    click.echo(wrapped(text, room_of(sys.stdout)))


def _show(by: By, lines: Sequence[Line]) -> None:
    priced = any(line.amount.cost for line in lines)
    weights = [_weight(line.amount, by, priced=priced) for line in lines]
    most = max(weights) or Decimal(1)
    name, *numbers = head = (by.upper(), "CALLS", "FAILED", "TOKENS IN", "TOKENS OUT", "COST", "")
    columns = _columns()
    rows = (
        (*_row(line), bar(float(weight / most), columns))
        for line, weight in zip(lines, weights, strict=True)
    )
    show([head, *rows], right=numbers[:-1], shorten=(name,), drop=("",))


def _columns() -> int:
    room = room_of(sys.stdout)
    return _SHORT if room and room < _WIDE else _LONG


def _row(line: Line) -> tuple[str, ...]:
    amount = line.amount
    return (
        line.name,
        f"{amount.calls:,}",
        f"{amount.failures:,}" if amount.failures else "",
        _short(amount.input_tokens),
        _short(amount.output_tokens),
        _money(amount),
    )


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
        f"{_PERIODS[account.period]}, ${standing.left:,.2f} left  {bar(share, _columns())}"
    )


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


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
        return "?" if more else "$0"
    cents = f"{amount.cost:,.2f}" if amount.cost >= 1 else f"{amount.cost:.4f}"
    return f"${cents}{more}"
