"""Columns for people, which stay readable without colour and in a pipe."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return `rows` as aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
