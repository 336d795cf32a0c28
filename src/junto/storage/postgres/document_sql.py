"""SQL for documents: the conditions of a search scope, and texts stored in parts."""

from typing import Any

from junto.domain.documents import PUBLIC_OWNER, SearchScope
from junto.storage.values import clean_text

# Texts are stored in parts, because PostgreSQL compresses a long text and finds a character in it
# by counting from the start.
_TEXT_PART_CHARS = 32_768


def build_scope_conditions(scope: SearchScope) -> tuple[str, dict[str, Any]]:
    """Return SQL conditions on a document `d`, joined with MESSAGE_JOINS, and their values."""
    parts = ["d.owner = ANY(%(owners)s)", "(d.message IS NULL OR s.status = 'active')"]
    values: dict[str, Any] = {"owners": [scope.owner, PUBLIC_OWNER]}
    if scope.sources:
        parts.append("d.source = ANY(%(sources)s)")
        values["sources"] = [source.value for source in scope.sources]
    if scope.kinds:
        parts.append("d.kind = ANY(%(kinds)s)")
        values["kinds"] = [clean_text(kind) for kind in scope.kinds]
    if scope.path:
        parts.append("strpos(lower(d.url), %(path)s) > 0")
        values["path"] = clean_text(scope.path).lower()
    if scope.after is not None:
        parts.append("d.modified >= %(since)s")
        values["since"] = scope.after
    if scope.before is not None:
        parts.append("d.modified < %(until)s")
        values["until"] = scope.before
    return " AND ".join(parts), values


def split_text(text: str) -> list[str]:
    """Return the parts in which a text is stored."""
    return [
        text[start : start + _TEXT_PART_CHARS] for start in range(0, len(text), _TEXT_PART_CHARS)
    ]


def build_text_slice(document: str, start: str, end: str) -> str:
    """Return the SQL expression for a document's text from `start` to `end`."""
    return (
        f"coalesce(substr((SELECT string_agg(t.text, '' ORDER BY t.part) FROM texts t "
        f"WHERE t.document = {document} "
        f"AND t.part BETWEEN {start} / {_TEXT_PART_CHARS} AND {end} / {_TEXT_PART_CHARS}), "
        f"mod({start}, {_TEXT_PART_CHARS}) + 1, {end} - {start}), '')"
    )
