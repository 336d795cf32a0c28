"""Encoding of jobs and their log entries as database rows."""

import json
from typing import Any

from junto.domain.jobs import Job, JobLogEntry, JobLogKind, JobState
from junto.storage.values import Row, clean_text, encode_json

_JSON_COLUMNS = ("usage", "result", "error", "asks")
JOB_COLUMNS = (
    "id", "owner", "tool", "digest", "server", "state", "detached",
    "created", "updated", "started", "ended", *_JSON_COLUMNS,
)  # fmt: skip
# Never change after a job is inserted.
_IMMUTABLE_COLUMNS = ("id", "owner", "tool", "digest", "server", "created")
JOB_LIST_SELECT = ", ".join("NULL AS result" if name == "result" else name for name in JOB_COLUMNS)
JOB_MUTABLE_COLUMNS = tuple(name for name in JOB_COLUMNS if name not in _IMMUTABLE_COLUMNS)


def encode_job(job: Job) -> dict[str, Any]:
    """Return a job as a row."""
    row = {name: getattr(job, name) for name in JOB_COLUMNS}
    return row | {
        "state": job.state.value,
        "detached": int(job.detached),
        **{name: encode_json(row[name]) for name in _JSON_COLUMNS},
    }


def decode_job(row: Row) -> Job:
    """Return the job in a row."""
    values = {name: row[name] for name in JOB_COLUMNS}
    return Job(
        **values
        | {
            "state": JobState(values["state"]),
            "detached": bool(values["detached"]),
            **{
                name: None if values[name] is None else json.loads(values[name])
                for name in _JSON_COLUMNS
            },
        }
    )


def encode_log_entry(entry: JobLogEntry) -> tuple[int, float, str, str]:
    """Return a log entry as a row: sequence number, time, kind and text."""
    return entry.sequence, entry.at, entry.kind.value, clean_text(entry.text)


def decode_log_entry(row: Row) -> JobLogEntry:
    """Return the log entry in a row."""
    return JobLogEntry(row["sequence"], row["at"], JobLogKind(row["kind"]), row["text"])
