"""Tables that are fitted to the terminal, and printed in full to a pipe."""

import shutil
import sys
from collections.abc import Collection, Sequence

import click

from junto.cli.terminal_text import display_width, is_terminal, sanitize, truncate

_COLUMN_GAP = "  "
# The minimum width of a shortened column, unless the table does not fit otherwise.
_MIN_SHORTENED_COLUMNS = 24

Rows = Sequence[Sequence[str]]


def print_table(
    rows: Rows,
    *,
    align_right: Collection[str] = (),
    shorten: Collection[str] = (),
    drop: Sequence[str] = (),
) -> None:
    """Print a table whose first row is the header, fitted to the width of a terminal.

    Args:
        rows: the header and the rows.
        align_right: names of right-aligned columns.
        shorten: names of columns whose cells may be truncated.
        drop: names of columns that may be dropped if truncating is not enough, in this order.
    """
    if not is_terminal(sys.stdout):
        click.echo(format_table(rows, align_right=align_right))
        return
    clean = [[sanitize(" ".join(cell.split())) for cell in row] for row in rows]
    max_columns = shutil.get_terminal_size().columns
    fitted = fit_rows(clean, max_columns, shorten=shorten, drop=drop)
    header, *body = format_table(fitted, align_right=align_right).split("\n")
    click.echo("\n".join([click.style(header, dim=True), *body]))


def format_table(rows: Rows, *, align_right: Collection[str] = ()) -> str:
    """Return `rows` as aligned columns."""
    widths = _measure_columns(rows)
    lines = []
    for row in rows:
        cells = zip(rows[0], row, widths, strict=True)
        line = _COLUMN_GAP.join(
            _align_cell(cell, columns, name in align_right) for name, cell, columns in cells
        )
        lines.append(line.rstrip())
    return "\n".join(lines)


def fit_rows(
    rows: Rows, max_columns: int, *, shorten: Collection[str] = (), drop: Sequence[str] = ()
) -> Rows:
    """Return `rows` truncated to at most `max_columns`, as far as `shorten` and `drop` allow."""
    header = rows[0]
    for count in range(len(drop) + 1):
        indexes = [index for index, name in enumerate(header) if name not in drop[:count]]
        remaining = [[row[index] for index in indexes] for row in rows]
        if (
            shortened := _shorten_cells(remaining, max_columns, shorten, _MIN_SHORTENED_COLUMNS)
        ) is not None:
            return shortened
    return _shorten_cells(remaining, max_columns, shorten, 1) or remaining


def _shorten_cells(
    rows: Rows, max_columns: int, shorten: Collection[str], min_columns: int
) -> Rows | None:
    """Return `rows` with cells truncated to fit, or None if `min_columns` is too wide for that."""
    widths = _measure_columns(rows)
    for index, name in enumerate(rows[0]):
        excess = sum(widths) + len(_COLUMN_GAP) * (len(widths) - 1) - max_columns
        if excess > 0 and name in shorten:
            widths[index] = max(
                min(widths[index], max(min_columns, len(name))), widths[index] - excess
            )
    if sum(widths) + len(_COLUMN_GAP) * (len(widths) - 1) > max_columns:
        return None
    return [
        [truncate(cell, columns) for cell, columns in zip(row, widths, strict=True)] for row in rows
    ]


def _measure_columns(rows: Rows) -> list[int]:
    return [max(map(display_width, column)) for column in zip(*rows, strict=True)]


def _align_cell(cell: str, columns: int, align_right: bool) -> str:  # noqa: FBT001 - private, one caller
    padding = " " * (columns - display_width(cell))
    return padding + cell if align_right else cell + padding
