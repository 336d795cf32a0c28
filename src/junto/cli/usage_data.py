"""What was used, for programs: as JSON and as CSV."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from junto.domain.usage import Amount
from junto.telemetry.reports import By, Line, Standing


@dataclass(frozen=True, slots=True)
class Report:
    """What was used since a moment, its parts, and what is left of budgets."""

    since: float
    total: Amount
    parts: Mapping[By, tuple[Line, ...]]
    budgets: tuple[Standing, ...]


def as_json(found: Report) -> str:
    """Return a report as JSON."""
    facts = {
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
    return json.dumps(facts, indent=2)


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


def as_csv(found: Report) -> str:
    """Return the one part of a report as CSV."""
    ((by, lines),) = found.parts.items()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([by.value, *_numbers(Amount())])
    writer.writerows([_plain(line.name), *_numbers(line.amount).values()] for line in lines)
    return text.getvalue()


def _plain(name: str) -> str:
    """Return a name that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name
