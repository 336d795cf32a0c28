"""Models that are no longer served, and what to ask instead."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Retirement:
    """When a model goes, and who takes its place."""

    on: date
    successor: str


_OPUS, _SONNET, _HAIKU = "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"

RETIRED = {
    "claude-3-opus-20240229": Retirement(date(2026, 1, 5), _OPUS),
    "claude-3-sonnet-20240229": Retirement(date(2025, 7, 21), _SONNET),
    "claude-3-5-sonnet-20240620": Retirement(date(2025, 10, 28), _SONNET),
    "claude-3-5-sonnet-20241022": Retirement(date(2025, 10, 28), _SONNET),
    "claude-3-5-sonnet-latest": Retirement(date(2025, 10, 28), _SONNET),
    "claude-3-5-haiku-20241022": Retirement(date(2026, 2, 19), _HAIKU),
    "claude-3-5-haiku-latest": Retirement(date(2026, 2, 19), _HAIKU),
    "claude-3-7-sonnet-20250219": Retirement(date(2026, 2, 19), _SONNET),
    "claude-3-7-sonnet-latest": Retirement(date(2026, 2, 19), _SONNET),
    "claude-opus-4-20250514": Retirement(date(2026, 6, 15), _OPUS),
    "claude-opus-4-0": Retirement(date(2026, 6, 15), _OPUS),
    "claude-sonnet-4-20250514": Retirement(date(2026, 6, 15), _SONNET),
    "claude-sonnet-4-0": Retirement(date(2026, 6, 15), _SONNET),
    "claude-sonnet-4-5-20250929": Retirement(date(2026, 11, 30), _SONNET),
    "claude-sonnet-4-5": Retirement(date(2026, 11, 30), _SONNET),
}


def retirement(model: str, today: date) -> Retirement | None:
    """Return what is to be known about a model that is gone by `today`."""
    found = RETIRED.get(model)
    return found if found and found.on <= today else None
