"""Changes to one value of a JSON text; everything around it stays, comments and blanks included."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from junto.cli.clients import jsonc
from junto.cli.clients.forms import Form, Path, UnchangeableError, newline_of
from junto.cli.clients.jsonc import Member, Value

_INDENT = "  "
_REST_OF_LINE = re.compile(r"(?:[ \t]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_REST_IS_BLANK = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def read(text: str) -> Mapping[str, Any]:
    """Return what `text` says; an empty one says nothing.

    Raises:
        UnreadableError: it is no JSON, not even with comments.
        UnchangeableError: it is no object.
    """
    root = jsonc.parsed(text)
    return {} if root is None else _object(root, ()).data


def put(text: str, path: Path, value: Any) -> str:
    """Return `text` with `value` at `path`; objects that are missing on the way are made.

    Raises:
        UnchangeableError: something on the way is no object.
    """
    root = jsonc.parsed(text)
    style = _Style.of(text, root)
    if root is None:
        start = "" if not text or text.endswith("\n") else style.newline
        return text + start + style.shown(_nested(path, value), "") + style.newline
    node = _object(root, ())
    for depth, key in enumerate(path):
        member = node.member(key)
        if member is None:
            return _added(text, style, node, key, _nested(path[depth + 1 :], value))
        if depth + 1 < len(path):
            node = _object(member.value, path[: depth + 1])
            continue
        old = member.value
        if old.data != value or type(old.data) is not type(value):
            shown = style.shown(value, _indent(text, member.start))
            return text[: old.start] + shown + text[old.end :]
    return text


def take(text: str, path: Path) -> str:
    """Return `text` without what stands at `path`; what is not there need not go."""
    while True:
        node = jsonc.parsed(text)
        for key in path[:-1]:
            found = node.member(key) if node else None
            node = found.value if found else None
        member = node.member(path[-1]) if node else None
        if node is None or member is None:
            return text
        text = _without(text, node, member)


JSONC = Form("JSON", read, put, take)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is laid out, as far as what is added should look the same."""

    newline: str
    indent: str
    spread: bool
    separators: tuple[str, str]

    @classmethod
    def of(cls, text: str, root: Value | None) -> "_Style":
        if root is None or not root.members:
            return cls(newline_of(text), _INDENT, True, (", ", ": "))  # noqa: FBT003
        first = root.members[0]
        spread = "\n" in text[root.start : first.start]
        separators = (", ", ": ") if spread or '": ' in text else (",", ":")
        return cls(newline_of(text), _indent(text, first.start) or _INDENT, spread, separators)

    def shown(self, value: Any, indent: str) -> str:
        """Return a value as it is to be written on a line with this indent."""
        if not self.spread:
            return json.dumps(value, ensure_ascii=False, separators=self.separators)
        if not isinstance(value, dict) or not value:
            return json.dumps(value, ensure_ascii=False)
        inner = indent + self.indent
        lines = [inner + self.member(key, each, inner) for key, each in value.items()]
        comma = "," + self.newline
        return "{" + self.newline + comma.join(lines) + self.newline + indent + "}"

    def member(self, key: str, value: Any, indent: str) -> str:
        name = json.dumps(key, ensure_ascii=False)
        return name + self.separators[1] + self.shown(value, indent)


def _object(value: Value, path: Path) -> Value:
    if isinstance(value.data, dict):
        return value
    what = _KINDS.get(type(value.data), "nothing")
    name = f"`{'.'.join(path)}`" if path else "the whole of it"
    raise UnchangeableError(f"{name} is {what} where an object with names is expected")


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _indent(text: str, index: int) -> str:
    """Return the blanks that begin the line of a place."""
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _rest_of_line(text: str, index: int) -> int:
    """Return where a line ends, past the comments on it."""
    found = _REST_OF_LINE.match(text, index)
    return found.end() if found else index


def _added(text: str, style: _Style, node: Value, key: str, value: Any) -> str:
    """Return `text` with another member at the end of an object."""
    if not node.members:
        return _filled(text, style, node, key, value)
    last = node.members[-1]
    if "\n" not in text[node.start : last.start]:
        point = last.comma or last.value.end
        lead = " " if last.comma else style.separators[0]
        new = lead + replace(style, spread=False).member(key, value, "")
        return text[:point] + new + ("," if last.comma else "") + text[point:]
    indent = _indent(text, last.start)
    new = style.newline + indent + style.member(key, value, indent)
    if last.comma:
        point = _rest_of_line(text, last.comma)
        return text[:point] + new + "," + text[point:]
    end = last.value.end
    point = _rest_of_line(text, end)
    return text[:end] + "," + text[end:point] + new + text[point:]


def _filled(text: str, style: _Style, node: Value, key: str, value: Any) -> str:
    """Return `text` with the first member of an object."""
    inside = text[node.start + 1 : node.end - 1]
    outer = _indent(text, node.start)
    indent = outer + style.indent
    new = style.member(key, value, indent)
    if inside.strip():  # a comment, which may run to the end of its line
        point = node.start + 1 + len(inside.rstrip())
        return text[:point] + style.newline + indent + new + text[point:]
    if style.spread:
        new = style.newline + indent + new + style.newline + outer
    return text[: node.start + 1] + new + text[node.end - 1 :]


def _without(text: str, node: Value, member: Member) -> str:
    """Return `text` without a member, and with no comma too many or too few."""
    start, end = member.start, member.comma or member.value.end
    place = [each.start for each in node.members].index(start)
    alone = _REST_IS_BLANK.match(text, end)
    if place + 1 < len(node.members):
        line = text.rfind("\n", 0, start) + 1
        if alone and line and not text[line:start].strip(" \t"):
            return text[:line] + text[alone.end() :]
        return text[:start] + text[end:].lstrip(" \t")
    before = node.members[place - 1] if place else None
    since = (before.comma or before.value.end) if before else node.start + 1
    # The line before may end in a comment, which would swallow what follows on this one.
    comments = _COMMENT.findall(text[since:start])
    if alone or not any(comment.startswith("//") for comment in comments):
        start = _lead(text, start)
    else:
        start = len(text[:start].rstrip(" \t"))
    if before is None and not (text[node.start + 1 : start] + text[end : node.end - 1]).strip():
        start, end = node.start + 1, node.end - 1
    if before and before.comma and member.comma is None:
        return text[: before.comma - 1] + text[before.comma : start] + text[end:]
    return text[:start] + text[end:]


def _lead(text: str, start: int) -> int:
    """Return where the blanks before a member begin, the end of the line before included."""
    before = text[:start].rstrip(" \t")
    return len(before.removesuffix("\n").removesuffix("\r"))
