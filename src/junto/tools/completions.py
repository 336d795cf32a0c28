"""Suggestions for what a user is typing into a prompt's blank or an address."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_MOST = 100  # the protocol allows no more in one answer

LANGUAGES = (
    "bash", "c", "cpp", "csharp", "css", "go", "html", "java", "javascript", "json", "kotlin",
    "php", "python", "ruby", "rust", "sql", "swift", "typescript", "yaml",
)  # fmt: skip


class Completions:
    """Knows the possible values of an argument by its name."""

    def __init__(self, values: Mapping[str, Callable[[], Sequence[str]]]) -> None:
        self._values = values

    def of(self, argument: str, typed: str) -> dict[str, Any]:
        """Return the values of `argument` that begin with `typed`, then those with it inside."""
        known = self._values.get(argument, tuple)()
        wanted = typed.casefold()
        begins = [value for value in known if value.casefold().startswith(wanted)]
        inside = [v for v in known if wanted in v.casefold() and v not in begins]
        found = begins + inside
        return {
            "completion": {
                "values": found[:_MOST],
                "total": len(found),
                "hasMore": len(found) > _MOST,
            }
        }
