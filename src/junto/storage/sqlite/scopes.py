"""What is searched, as conditions of a statement."""

from typing import Any

from junto.domain.documents import EVERYONE, Scope
from junto.storage.rows import clean


def clauses(scope: Scope) -> tuple[str, dict[str, Any]]:
    """Return the conditions on a document `d` with what is `AROUND` it, and their values."""
    parts = ["d.owner IN (:owner, :everyone)", "(d.message IS NULL OR s.status = 'active')"]
    values: dict[str, Any] = {"owner": scope.owner, "everyone": EVERYONE}
    for column, wanted in (("source", scope.sources), ("kind", scope.kinds)):
        names = {f"{column}{number}": clean(str(each)) for number, each in enumerate(wanted)}
        if names:
            parts.append(f"d.{column} IN ({', '.join(f':{name}' for name in names)})")
            values |= names
    if scope.path:
        parts.append("instr(lower(d.url), :path) > 0")
        values["path"] = clean(scope.path.lower())
    if scope.after is not None:
        parts.append("d.modified >= :since")
        values["since"] = scope.after
    if scope.before is not None:
        parts.append("d.modified < :until")
        values["until"] = scope.before
    return " AND ".join(parts), values
