"""What a form of configuration file must allow: to be read, and to be changed in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]


class UnreadableError(Exception):
    """A text does not follow its form; what is wrong with it, and where, counted from one."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason)
        self.reason, self.line, self.column = reason, line, column


class UnchangeableError(Exception):
    """A text is sound, but not written in a way that allows this change."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form of file; what is not named in a change stays as it is, to the last blank."""

    title: str
    read: Callable[[str], Mapping[str, Any]]
    put: Callable[[str, Path, Any], str]
    take: Callable[[str, Path], str]


def place(text: str, index: int) -> tuple[int, int]:
    """Return the line and the column of a place in `text`, as an editor shows them."""
    before = text[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1


def newline_of(text: str) -> str:
    """Return how the lines of `text` end; where there is none yet, as they do everywhere."""
    return "\r\n" if "\r\n" in text else "\n"
