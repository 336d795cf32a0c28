"""Encoding of usage totals as database rows, and the query that sums them up."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from junto.domain.usage import UsageDimension, UsageGroupKey, UsageKey, UsageTotals
from junto.storage.values import Row, clean_text, from_nanodollars, to_nanodollars

USAGE_KEY_COLUMNS = ("begun", "caller", "tool", "model", "provider")
_TOTAL_COLUMNS = (
    "calls",
    "failures",
    "questions",
    "unanswered",
    "input_tokens",
    "output_tokens",
    "cost",
    "unpriced",
)
USAGE_COLUMNS = (*USAGE_KEY_COLUMNS, *_TOTAL_COLUMNS)
USAGE_INCREMENTS = ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in _TOTAL_COLUMNS)


def encode_usage(totals: Mapping[UsageKey, UsageTotals]) -> list[dict[str, Any]]:
    """Return totals as rows, sorted by key: concurrent writers lock rows in the same order."""
    rows = [_encode_row(key, key_totals) for key, key_totals in totals.items()]
    return sorted(rows, key=lambda row: [row[name] for name in USAGE_KEY_COLUMNS])


def _encode_row(key: UsageKey, totals: UsageTotals) -> dict[str, Any]:
    names = {name: clean_text(getattr(key, name)) for name in USAGE_KEY_COLUMNS[1:]}
    numbers = {name: getattr(totals, name) for name in _TOTAL_COLUMNS}
    return {"begun": key.bucket_start, **names, **numbers, "cost": to_nanodollars(totals.cost)}


def build_totals_query(by: Sequence[UsageDimension], condition: str) -> str:
    """Return the statement that sums up the rows matching `condition`, grouped by `by`."""
    sums = ", ".join(f"sum({name}) AS {name}" for name in _TOTAL_COLUMNS)
    columns = ", ".join([*by, sums])
    groups = f" GROUP BY {', '.join(by)}" if by else ""
    return f"SELECT {columns} FROM usage WHERE {condition}{groups}"


def decode_totals(
    rows: Iterable[Row], by: Sequence[UsageDimension]
) -> dict[UsageGroupKey, UsageTotals]:
    """Return the totals in rows; without dimensions there is one row, which may be all NULL."""
    return {
        tuple(row[name] for name in by): _decode_row(row)
        for row in rows
        if row["calls"] is not None
    }


def _decode_row(row: Row) -> UsageTotals:
    numbers: dict[str, Any] = {name: int(row[name]) for name in _TOTAL_COLUMNS}
    return UsageTotals(**numbers | {"cost": from_nanodollars(numbers["cost"])})
