"""Jobs and their logs as rows, the same in every database."""

import json
from collections.abc import Mapping
from typing import Any

from junto.domain.jobs import Entry, Job, Kind, State
from junto.storage.rows import Row, clean

_JSON = ("usage", "result", "error", "asks")
COLUMNS = (
    "id", "owner", "tool", "digest", "server", "state", "detached",
    "created", "updated", "started", "ended", *_JSON,
)  # fmt: skip
# What never changes once a job is there.
_FIXED = ("id", "owner", "tool", "digest", "server", "created")
LISTED = ", ".join("NULL AS result" if name == "result" else name for name in COLUMNS)
CHANGING = tuple(name for name in COLUMNS if name not in _FIXED)


def job_row(job: Job) -> dict[str, Any]:
    """Return what is kept of a job."""
    row = {name: getattr(job, name) for name in COLUMNS}
    return row | {
        "state": job.state.value,
        "detached": int(job.detached),
        **{name: json_text(row[name]) for name in _JSON},
    }


def read_job(row: Row) -> Job:
    """Return the job in a row."""
    kept = {name: row[name] for name in COLUMNS}
    return Job(
        **kept
        | {
            "state": State(kept["state"]),
            "detached": bool(kept["detached"]),
            **{name: None if kept[name] is None else json.loads(kept[name]) for name in _JSON},
        }
    )


def entry_row(entry: Entry) -> tuple[int, float, str, str]:
    """Return what is kept of an entry: its number, its time, its kind, its text."""
    return entry.sequence, entry.at, entry.kind.value, clean(entry.text)


def read_entry(row: Row) -> Entry:
    """Return the entry in a row."""
    return Entry(row["sequence"], row["at"], Kind(row["kind"]), row["text"])


def json_text(facts: Mapping[str, Any] | None) -> str | None:
    """Return facts as a column keeps them."""
    if facts is None:
        return None
    return clean(json.dumps(facts, separators=(",", ":"), ensure_ascii=False))
