"""What somebody searches for: words, and what narrows the search down.

Filters stand among the words, so that every client has them without a further argument:
`retries path:docs type:pdf source:notes after:2026-01-31 before:2026-03-01`.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from urllib.parse import quote

from junto.domain.documents import Scope, Source
from junto.domain.errors import InvalidInputError

_FILTER = re.compile(r'(?<!\S)(source|type|path|after|before):(?:"([^"]{1,500})"|(\S{1,500}))')
_MOST_CHARACTERS, _LONGEST = 4000, 20_000
_MOST_FILTERS = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """Words, and where to look for them."""

    text: str
    scope: Scope


def wish(query: str, scope: Scope) -> Wish:
    """Return what a query asks for, within a scope that it can only narrow.

    Raises:
        InvalidInputError: a filter makes no sense.
    """
    if len(query) > _LONGEST:
        raise InvalidInputError(f"query: it has at most {_LONGEST:,} characters.")
    filters = [(found[1], found[2] or found[3]) for found in _FILTER.finditer(query)]
    if len(filters) > _MOST_FILTERS:
        raise InvalidInputError(f"query: it has at most {_MOST_FILTERS} filters.")
    for name, value in filters:
        scope = _narrowed(scope, name, value)
    text = " ".join(_FILTER.sub(" ", query).split())
    return Wish(text[:_MOST_CHARACTERS], scope)


def _narrowed(scope: Scope, name: str, value: str) -> Scope:
    match name:
        case "source":
            return _from(scope, value)
        case "type":
            return replace(scope, kinds=(*scope.kinds, value.lower()))
        case "path":
            # Addresses are written with signs such as %20, whatever is typed.
            safe = "/:%#?&=+,;@!$'()*~"
            return replace(scope, path=quote(value, safe=safe, errors="surrogateescape"))
        case "after":
            return replace(scope, after=_moment(name, value))
        case _:
            return replace(scope, before=_moment(name, value))


def _from(scope: Scope, value: str) -> Scope:
    known = scope.sources or tuple(Source)
    if value not in known:
        raise InvalidInputError(f"source: it takes {', '.join(known)}.")
    return replace(scope, sources=(Source(value),))


def _moment(name: str, value: str) -> float:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        raise InvalidInputError(f"{name}: it takes a day, such as 2026-01-31.") from None
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
