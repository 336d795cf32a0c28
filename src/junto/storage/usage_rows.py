"""What was used as rows, the same in every database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from junto.domain.usage import Amount, Dimension, Heading, Place
from junto.storage.money import dollars, nano
from junto.storage.rows import Row, clean

HEADINGS = ("begun", "caller", "tool", "model", "provider")
NUMBERS = (
    "calls",
    "failures",
    "questions",
    "unanswered",
    "input_tokens",
    "output_tokens",
    "cost",
    "unpriced",
)
COLUMNS = (*HEADINGS, *NUMBERS)
ADDED = ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in NUMBERS)


def usage_rows(sums: Mapping[Heading, Amount]) -> list[dict[str, Any]]:
    """Return sums as rows, always in one order: whoever takes rows so never waits in a circle."""
    rows = [_row(heading, amount) for heading, amount in sums.items()]
    return sorted(rows, key=lambda row: [row[name] for name in HEADINGS])


def _row(heading: Heading, amount: Amount) -> dict[str, Any]:
    names = {name: clean(getattr(heading, name)) for name in HEADINGS[1:]}
    numbers = {name: getattr(amount, name) for name in NUMBERS}
    return {"begun": heading.begun, **names, **numbers, "cost": nano(amount.cost)}


def breakdown(by: Sequence[Dimension], condition: str) -> str:
    """Return the statement that sums up what fits `condition`."""
    sums = ", ".join(f"sum({name}) AS {name}" for name in NUMBERS)
    columns = ", ".join([*by, sums])
    groups = f" GROUP BY {', '.join(by)}" if by else ""
    return f"SELECT {columns} FROM usage WHERE {condition}{groups}"


def read_sums(rows: Iterable[Row], by: Sequence[Dimension]) -> dict[Place, Amount]:
    """Return the sums in rows; without a dimension there is one row, which may be empty."""
    return {
        tuple(row[name] for name in by): _amount(row) for row in rows if row["calls"] is not None
    }


def _amount(row: Row) -> Amount:
    numbers: dict[str, Any] = {name: int(row[name]) for name in NUMBERS}
    return Amount(**numbers | {"cost": dollars(numbers["cost"])})
