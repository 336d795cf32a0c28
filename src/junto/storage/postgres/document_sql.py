"""What is searched, as conditions of a statement."""

from typing import Any

from junto.domain.documents import EVERYONE, Scope
from junto.storage.rows import clean


def clauses(scope: Scope) -> tuple[str, dict[str, Any]]:
    """Return the conditions on a document `d` with what is `AROUND` it, and their values."""
    parts = ["d.owner = ANY(%(owners)s)", "(d.message IS NULL OR s.status = 'active')"]
    values: dict[str, Any] = {"owners": [scope.owner, EVERYONE]}
    if scope.sources:
        parts.append("d.source = ANY(%(sources)s)")
        values["sources"] = [source.value for source in scope.sources]
    if scope.kinds:
        parts.append("d.kind = ANY(%(kinds)s)")
        values["kinds"] = [clean(kind) for kind in scope.kinds]
    if scope.path:
        parts.append("strpos(lower(d.url), %(path)s) > 0")
        values["path"] = clean(scope.path).lower()
    if scope.after is not None:
        parts.append("d.modified >= %(since)s")
        values["since"] = scope.after
    if scope.before is not None:
        parts.append("d.modified < %(until)s")
        values["until"] = scope.before
    return " AND ".join(parts), values
