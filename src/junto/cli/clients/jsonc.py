"""A parser for JSON with comments and trailing commas that records where each value is."""

import json
import re
import sys
from dataclasses import dataclass
from typing import Any

from junto.cli.clients.formats import ConfigSyntaxError, find_line_and_column

# The parser is recursive; deeper files would overflow the stack.
_MAX_DEPTH = 200
_BLANKS_AND_COMMENTS = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERAL = re.compile(r"true|false|null")


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value, its start and end in the text, and its members if it is an object."""

    start: int
    end: int
    data: Any
    members: tuple["JsonMember", ...] = ()

    def find_member(self, key: str) -> "JsonMember | None":
        """Return the member with this key, the last one if there are duplicates."""
        return next((each for each in reversed(self.members) if each.key == key), None)


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key and its value in an object; `comma_end` is where the comma after it ends, if any."""

    key: str
    start: int
    value: JsonNode
    comma_end: int | None


def _parse_int(digits: str) -> float:
    """Return an integer; very long ones, which `int()` may reject, become a float."""
    return int(digits) if len(digits) < sys.int_info.str_digits_check_threshold else float(digits)


@dataclass(slots=True)
class _Parser:
    text: str
    position: int = 0
    depth: int = 0

    def syntax_error(self, reason: str) -> ConfigSyntaxError:
        return ConfigSyntaxError(reason, *find_line_and_column(self.text, self.position))

    def skip_blanks(self) -> str:
        """Skip whitespace and comments, and return the next character, if any."""
        match = _BLANKS_AND_COMMENTS.match(self.text, self.position)
        self.position = match.end() if match else self.position
        if self.text.startswith("/*", self.position):
            raise self.syntax_error("a comment has no end")
        return self.text[self.position : self.position + 1]

    def parse_value(self) -> JsonNode:
        first = self.skip_blanks()
        start = self.position
        if first in ("{", "["):
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise self.syntax_error("it goes too deep")
            node = self._parse_object() if first == "{" else self._parse_array()
            self.depth -= 1
            return node
        for pattern in (_STRING, _NUMBER, _LITERAL):
            if token := pattern.match(self.text, start):
                self.position = token.end()
                return JsonNode(
                    start, self.position, json.loads(token.group(), parse_int=_parse_int)
                )
        raise self.syntax_error("a value is expected" if first else "the file ends too early")

    def _parse_object(self) -> JsonNode:
        start, members = self.position, list[JsonMember]()
        self.position += 1
        while (first := self.skip_blanks()) != "}":
            if not (token := _STRING.match(self.text, self.position)):
                raise self.syntax_error(
                    "a name in quotes is expected" if first else "a brace is not closed"
                )
            key_start, self.position = self.position, token.end()
            if self.skip_blanks() != ":":
                raise self.syntax_error("a colon is expected")
            self.position += 1
            value = self.parse_value()
            members.append(
                JsonMember(
                    json.loads(token.group()), key_start, value, self._parse_comma("}", "brace")
                )
            )
        self.position += 1
        data = {each.key: each.value.data for each in members}
        return JsonNode(start, self.position, data, tuple(members))

    def _parse_array(self) -> JsonNode:
        start, items = self.position, list[Any]()
        self.position += 1
        while self.skip_blanks() != "]":
            items.append(self.parse_value().data)
            self._parse_comma("]", "bracket")
        self.position += 1
        return JsonNode(start, self.position, items)

    def _parse_comma(self, closing: str, name: str) -> int | None:
        """Skip a comma and return its end, or return None at the closing character."""
        following = self.skip_blanks()
        if following == ",":
            self.position += 1
            return self.position
        if following != closing:
            raise self.syntax_error(
                "a comma is expected" if following else f"a {name} is not closed"
            )
        return None


def parse_jsonc(text: str) -> JsonNode | None:
    """Return the root value of `text`, or None if there are only whitespace and comments.

    Raises:
        ConfigSyntaxError: the text is not valid JSON, apart from comments and trailing commas.
    """
    parser = _Parser(text)
    if not parser.skip_blanks():
        return None
    root = parser.parse_value()
    if parser.skip_blanks():
        raise parser.syntax_error("something stands behind the end")
    return root
