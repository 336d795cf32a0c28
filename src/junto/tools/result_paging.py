"""Results in pieces, since clients cut off what is too long, and say nothing of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from junto.domain.jobs import Job

# Of a result that is too large, facts up to this size are passed on: ids, usage, and the like.
_SMALL = 500


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of a text, and where the next one begins."""

    text: str
    cursor: int | None
    total: int

    @classmethod
    def of(cls, text: str, first: int, most_bytes: int) -> "Slice":
        """Return what fits of `text` from the character `first` on."""
        rest = text[first : first + most_bytes]
        fits = rest.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
        last = first + max(len(fits), 1)
        return cls(rest[: len(fits)], last if last < len(text) else None, len(text))

    def onward(self, job_id: str) -> str | None:
        """Say how to get the next piece."""
        if self.cursor is None:
            return None
        return (
            f"There is more, {self.total:,} characters in all: call `job` with jobId {job_id}, "
            f"action result and cursor {self.cursor}."
        )


def plain(result: Any) -> dict[str, Any]:
    """Return a result as JSON has it, whichever way it was made."""
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dict(result)


def result_text(result: Mapping[str, Any]) -> str:
    """Return the text of a result."""
    return "\n\n".join(
        part["text"] for part in result.get("content", ()) if part.get("type") == "text"
    )


def fitting(job: Job, result: Mapping[str, Any], most_bytes: int) -> dict[str, Any]:
    """Return the result of a job, or its beginning if clients would not show all of it."""
    facts, text = result.get("structuredContent"), result_text(result)
    if max(_size(facts), _size(text)) <= most_bytes:
        return dict(result)
    part = Slice.of(text, 0, most_bytes)
    small = {name: value for name, value in (facts or {}).items() if _size(value) <= _SMALL}
    notice = part.onward(job.id)
    more = {"jobId": job.id, "text": part.text, "total": part.total}
    if part.cursor is not None:
        more |= {"cursor": part.cursor, "notice": notice}
    return {
        **result,
        "content": [{"type": "text", "text": "\n\n".join(filter(None, (part.text, notice)))}],
        "structuredContent": small | more,
    }


def _size(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8", "replace"))
