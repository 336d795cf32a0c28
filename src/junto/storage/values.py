"""Conversions of text, JSON and money to values that every database can store."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

# Any, because sqlite3.Row is not a Mapping.
Row = Mapping[str, Any] | Any

_NANODOLLARS_PER_DOLLAR = Decimal(1_000_000_000)


def clean_text(text: str) -> str:
    """Return text that every database accepts: without NULs and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def encode_json(value: Mapping[str, Any] | None) -> str | None:
    """Return a JSON object as a text column stores it."""
    if value is None:
        return None
    return clean_text(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def to_nanodollars(amount: Decimal) -> int:
    """Return dollars as nanodollars, rounded: integers are added up without rounding errors."""
    return int((amount * _NANODOLLARS_PER_DOLLAR).to_integral_value())


def from_nanodollars(amount: int) -> Decimal:
    """Return nanodollars as dollars."""
    return amount / _NANODOLLARS_PER_DOLLAR
