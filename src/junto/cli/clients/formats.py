"""What a configuration file format provides: parsing, and edits of a single value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str, ...]


class ConfigSyntaxError(Exception):
    """A text is not valid in its format; `line` and `column` count from one."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason)
        self.reason, self.line, self.column = reason, line, column


class ConfigEditError(Exception):
    """A text is valid, but does not allow the requested change."""


@dataclass(frozen=True, slots=True)
class ConfigFormat:
    """A configuration file format; its edits preserve the rest of the text, even whitespace."""

    title: str
    parse: Callable[[str], Mapping[str, Any]]
    set_value: Callable[[str, KeyPath, Any], str]
    remove_value: Callable[[str, KeyPath], str]


def find_line_and_column(text: str, index: int) -> tuple[int, int]:
    """Return the line and column of an index in `text`, both counted from one."""
    before = text[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1


def detect_newline(text: str) -> str:
    """Return the line ending that `text` uses, by default a line feed."""
    return "\r\n" if "\r\n" in text else "\n"
