"""Splitting of long tool results into pages, because clients silently truncate long ones."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from junto.domain.jobs import Job

# Of a result that is too large, structured fields up to this size are kept: ids, usage and so on.
_MAX_SMALL_FIELD_BYTES = 500


@dataclass(frozen=True, slots=True)
class TextSlice:
    """A slice of a text, with the start of the next slice and the total length."""

    text: str
    cursor: int | None
    total: int

    @classmethod
    def from_text(cls, text: str, start: int, max_bytes: int) -> "TextSlice":
        """Return the slice of `text` from character `start` that fits into `max_bytes`."""
        chunk = text[start : start + max_bytes]
        fitting = chunk.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")
        end = start + max(len(fitting), 1)
        return cls(chunk[: len(fitting)], end if end < len(text) else None, len(text))

    def format_next_hint(self, job_id: str) -> str | None:
        """Return a sentence on how to get the next slice, or None after the last one."""
        if self.cursor is None:
            return None
        return (
            f"There is more, {self.total:,} characters in all: call `job` with jobId {job_id}, "
            f"action result and cursor {self.cursor}."
        )


def to_json(result: Any) -> dict[str, Any]:
    """Return a result, a model or a mapping, as a JSON object."""
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dict(result)


def extract_text(result: Mapping[str, Any]) -> str:
    """Return the text content of a result."""
    return "\n\n".join(
        part["text"] for part in result.get("content", ()) if part.get("type") == "text"
    )


def truncate_result(job: Job, result: Mapping[str, Any], max_bytes: int) -> dict[str, Any]:
    """Return the result of a job, or its first slice if it exceeds `max_bytes`."""
    structured, text = result.get("structuredContent"), extract_text(result)
    if max(_count_bytes(structured), _count_bytes(text)) <= max_bytes:
        return dict(result)
    part = TextSlice.from_text(text, 0, max_bytes)
    notice = part.format_next_hint(job.id)
    content = [{"type": "text", "text": "\n\n".join(filter(None, (part.text, notice)))}]
    if structured is None:
        return {**result, "content": content}
    small_fields = {
        name: value
        for name, value in structured.items()
        if _count_bytes(value) <= _MAX_SMALL_FIELD_BYTES
    }
    paging = {"jobId": job.id, "text": part.text, "total": part.total}
    if part.cursor is not None:
        paging |= {"cursor": part.cursor, "notice": notice}
    return {
        **result,
        "content": content,
        "structuredContent": small_fields | paging,
    }


def _count_bytes(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8", "replace"))
