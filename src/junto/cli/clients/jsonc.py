"""JSON as people keep it by hand, with comments and commas too many: every value, and its place."""

import json
import re
import sys
from dataclasses import dataclass
from typing import Any

from junto.cli.clients.forms import UnreadableError, place

# How deep a file may go; nobody's does, and a deeper one would end our own stack.
_DEEPEST = 200
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")


@dataclass(frozen=True, slots=True)
class Value:
    """A value, from where to where it stands, and its members if it is an object."""

    start: int
    end: int
    data: Any
    members: tuple["Member", ...] = ()

    def member(self, key: str) -> "Member | None":
        """Return a member; of several with one name the last, which is the one that counts."""
        return next((each for each in reversed(self.members) if each.key == key), None)


@dataclass(frozen=True, slots=True)
class Member:
    """A name in an object and its value; `comma` is where the comma behind it ends, if any."""

    key: str
    start: int
    value: Value
    comma: int | None


def _number(digits: str) -> float:
    """Return a whole number; one with more digits than Python reads is only nearly right."""
    return int(digits) if len(digits) < sys.int_info.str_digits_check_threshold else float(digits)


@dataclass(slots=True)
class _Reading:
    text: str
    at: int = 0
    depth: int = 0

    def wrong(self, reason: str) -> UnreadableError:
        return UnreadableError(reason, *place(self.text, self.at))

    def skip(self) -> str:
        """Go on to what is neither blank nor comment, and return its first character."""
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        if self.text.startswith("/*", self.at):
            raise self.wrong("a comment has no end")
        return self.text[self.at : self.at + 1]

    def value(self) -> Value:
        first = self.skip()
        start = self.at
        if first in ("{", "["):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.wrong("it goes too deep")
            found = self._object() if first == "{" else self._array()
            self.depth -= 1
            return found
        for pattern in (_STRING, _NUMBER, _WORD):
            if token := pattern.match(self.text, start):
                self.at = token.end()
                return Value(start, self.at, json.loads(token.group(), parse_int=_number))
        raise self.wrong("a value is expected" if first else "the file ends too early")

    def _object(self) -> Value:
        start, members = self.at, list[Member]()
        self.at += 1
        while (first := self.skip()) != "}":
            if not (token := _STRING.match(self.text, self.at)):
                raise self.wrong(
                    "a name in quotes is expected" if first else "a brace is not closed"
                )
            place_of_key, self.at = self.at, token.end()
            if self.skip() != ":":
                raise self.wrong("a colon is expected")
            self.at += 1
            value = self.value()
            members.append(
                Member(json.loads(token.group()), place_of_key, value, self._comma("}", "brace"))
            )
        self.at += 1
        data = {each.key: each.value.data for each in members}
        return Value(start, self.at, data, tuple(members))

    def _array(self) -> Value:
        start, items = self.at, list[Any]()
        self.at += 1
        while self.skip() != "]":
            items.append(self.value().data)
            self._comma("]", "bracket")
        self.at += 1
        return Value(start, self.at, items)

    def _comma(self, closing: str, name: str) -> int | None:
        """Go past a comma and return where it ends; without one, the end must come."""
        following = self.skip()
        if following == ",":
            self.at += 1
            return self.at
        if following != closing:
            raise self.wrong("a comma is expected" if following else f"a {name} is not closed")
        return None


def parsed(text: str) -> Value | None:
    """Return what `text` says, or nothing if there is nothing but blanks and comments.

    Raises:
        UnreadableError: it is no JSON, not even with comments.
    """
    reading = _Reading(text)
    if not reading.skip():
        return None
    found = reading.value()
    if reading.skip():
        raise reading.wrong("something stands behind the end")
    return found
