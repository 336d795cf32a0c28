"""Search queries: the words to search for, and filters that narrow the search.

Filters are part of the text, so that every client supports them without further arguments:
`retries path:docs type:pdf source:notes after:2026-01-31 before:2026-03-01`.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from urllib.parse import quote

from junto.domain.documents import SearchScope, Source
from junto.domain.errors import InvalidInputError

_FILTER = re.compile(r'(?<!\S)(source|type|path|after|before):(?:"([^"]{1,500})"|(\S{1,500}))')
_MAX_TEXT_CHARS, _MAX_QUERY_CHARS = 4000, 20_000
_MAX_FILTERS = 20


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The words to search for, and the scope of the search."""

    text: str
    scope: SearchScope


def parse_query(query: str, scope: SearchScope) -> SearchQuery:
    """Parse a query; its filters can only narrow `scope`.

    Raises:
        InvalidInputError: the query is too long, or a filter is invalid.
    """
    if len(query) > _MAX_QUERY_CHARS:
        raise InvalidInputError(f"query: it has at most {_MAX_QUERY_CHARS:,} characters.")
    filters = [(match[1], match[2] or match[3]) for match in _FILTER.finditer(query)]
    if len(filters) > _MAX_FILTERS:
        raise InvalidInputError(f"query: it has at most {_MAX_FILTERS} filters.")
    for name, value in filters:
        scope = _apply_filter(scope, name, value)
    text = " ".join(_FILTER.sub(" ", query).split())
    return SearchQuery(text[:_MAX_TEXT_CHARS], scope)


def _apply_filter(scope: SearchScope, name: str, value: str) -> SearchScope:
    match name:
        case "source":
            return _restrict_source(scope, value)
        case "type":
            return replace(scope, kinds=(*scope.kinds, value.lower()))
        case "path":
            # URLs are stored percent-encoded.
            safe = "/:%#?&=+,;@!$'()*~"
            return replace(scope, path=quote(value, safe=safe, errors="surrogateescape"))
        case "after":
            return replace(scope, after=_parse_date(name, value))
        case _:
            return replace(scope, before=_parse_date(name, value))


def _restrict_source(scope: SearchScope, value: str) -> SearchScope:
    allowed = scope.sources or tuple(Source)
    if value not in allowed:
        raise InvalidInputError(f"source: it takes {', '.join(allowed)}.")
    return replace(scope, sources=(Source(value),))


def _parse_date(name: str, value: str) -> float:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        raise InvalidInputError(f"{name}: it takes a day, such as 2026-01-31.") from None
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
