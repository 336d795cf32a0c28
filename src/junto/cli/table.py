"""Columns for people: they fit the terminal, and are whole in a pipe."""

import shutil
import sys
from collections.abc import Collection, Sequence

import click

from junto.cli.writing import harmless, shortened, sits, width

_GAP = "  "
# A column that is shortened keeps so much, unless nothing else helps.
_LEAST = 24

Rows = Sequence[Sequence[str]]


def show(
    rows: Rows,
    *,
    right: Collection[str] = (),
    shorten: Collection[str] = (),
    drop: Sequence[str] = (),
) -> None:
    """Print `rows`, the first of which is the head; in a terminal they are made to fit.

    `right` names columns of numbers, `shorten` those that may be cut to fit, and `drop` those that
    may be left out if that is not enough, the first one first.
    """
    if not sits(sys.stdout):
        click.echo(table(rows, right=right))
        return
    clean = [[harmless(" ".join(cell.split())) for cell in row] for row in rows]
    room = shutil.get_terminal_size().columns
    fitting = fitted(clean, room, shorten=shorten, drop=drop)
    head, *body = table(fitting, right=right).split("\n")
    click.echo("\n".join([click.style(head, dim=True), *body]))


def table(rows: Rows, *, right: Collection[str] = ()) -> str:
    """Return `rows` as aligned columns."""
    widths = _widths(rows)
    lines = []
    for row in rows:
        cells = zip(rows[0], row, widths, strict=True)
        line = _GAP.join(_set(cell, columns, name in right) for name, cell, columns in cells)
        lines.append(line.rstrip())
    return "\n".join(lines)


def fitted(
    rows: Rows, room: int, *, shorten: Collection[str] = (), drop: Sequence[str] = ()
) -> Rows:
    """Return `rows` so that they are no wider than `room`, as far as that is allowed."""
    head = rows[0]
    for count in range(len(drop) + 1):
        kept = [place for place, name in enumerate(head) if name not in drop[:count]]
        left = [[row[place] for place in kept] for row in rows]
        if (narrow := _shortened(left, room, shorten, _LEAST)) is not None:
            return narrow
    return _shortened(left, room, shorten, 1) or left


def _shortened(rows: Rows, room: int, shorten: Collection[str], least: int) -> Rows | None:
    """Return `rows` with cells shortened to fit, or nothing if too little would be left of them."""
    widths = _widths(rows)
    for place, name in enumerate(rows[0]):
        over = sum(widths) + len(_GAP) * (len(widths) - 1) - room
        if over > 0 and name in shorten:
            widths[place] = max(min(widths[place], max(least, len(name))), widths[place] - over)
    if sum(widths) + len(_GAP) * (len(widths) - 1) > room:
        return None
    return [
        [shortened(cell, columns) for cell, columns in zip(row, widths, strict=True)]
        for row in rows
    ]


def _widths(rows: Rows) -> list[int]:
    return [max(map(width, column)) for column in zip(*rows, strict=True)]


def _set(cell: str, columns: int, right: bool) -> str:  # noqa: FBT001 - the side
    blank = " " * (columns - width(cell))
    return blank + cell if right else cell + blank
