"""Edits of one value in a JSON text that preserve everything else, including comments."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from junto.cli.clients import jsonc
from junto.cli.clients.formats import ConfigEditError, ConfigFormat, KeyPath, detect_newline
from junto.cli.clients.jsonc import JsonMember, JsonNode

_DEFAULT_INDENT = "  "
_REST_OF_LINE = re.compile(r"(?:[ \t]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_REST_IS_BLANK = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_TYPE_NAMES = {
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def parse(text: str) -> Mapping[str, Any]:
    """Return the object in `text`; an empty text counts as an empty object.

    Raises:
        ConfigSyntaxError: the text is not valid JSON, apart from comments and trailing commas.
        ConfigEditError: the root is not an object.
    """
    root = jsonc.parse_jsonc(text)
    return {} if root is None else _require_object(root, ()).data


def set_value(text: str, path: KeyPath, value: Any) -> str:
    """Return `text` with `value` at `path`; missing parent objects are created.

    Raises:
        ConfigEditError: a parent is not an object.
    """
    root = jsonc.parse_jsonc(text)
    style = _Style.detect(text, root)
    if root is None:
        lead = "" if not text or text.endswith("\n") else style.newline
        return text + lead + style.format_value(_nest_value(path, value), "") + style.newline
    node = _require_object(root, ())
    for depth, key in enumerate(path):
        member = node.find_member(key)
        if member is None:
            return _append_member(text, style, node, key, _nest_value(path[depth + 1 :], value))
        if depth + 1 < len(path):
            node = _require_object(member.value, path[: depth + 1])
            continue
        old = member.value
        if old.data != value or type(old.data) is not type(value):
            formatted = style.format_value(value, _find_indent(text, member.start))
            return text[: old.start] + formatted + text[old.end :]
    return text


def remove_value(text: str, path: KeyPath) -> str:
    """Return `text` without the value at `path`, if there is one."""
    while True:
        node = jsonc.parse_jsonc(text)
        for key in path[:-1]:
            parent = node.find_member(key) if node else None
            node = parent.value if parent else None
        member = node.find_member(path[-1]) if node else None
        if node is None or member is None:
            return text
        text = _remove_member(text, node, member)


JSONC = ConfigFormat("JSON", parse, set_value, remove_value)


@dataclass(frozen=True, slots=True)
class _Style:
    """The layout of a text, which added members follow."""

    newline: str
    indent: str
    multiline: bool
    separators: tuple[str, str]

    @classmethod
    def detect(cls, text: str, root: JsonNode | None) -> "_Style":
        if root is None or not root.members:
            return cls(detect_newline(text), _DEFAULT_INDENT, True, (", ", ": "))  # noqa: FBT003
        first = root.members[0]
        multiline = "\n" in text[root.start : first.start]
        separators = (", ", ": ") if multiline or '": ' in text else (",", ":")
        return cls(
            detect_newline(text),
            _find_indent(text, first.start) or _DEFAULT_INDENT,
            multiline,
            separators,
        )

    def format_value(self, value: Any, indent: str) -> str:
        """Return a value as JSON for a line with this indent."""
        if not self.multiline:
            return json.dumps(value, ensure_ascii=False, separators=self.separators)
        if not isinstance(value, dict) or not value:
            return json.dumps(value, ensure_ascii=False)
        inner = indent + self.indent
        lines = [inner + self.format_member(key, each, inner) for key, each in value.items()]
        comma = "," + self.newline
        return "{" + self.newline + comma.join(lines) + self.newline + indent + "}"

    def format_member(self, key: str, value: Any, indent: str) -> str:
        name = json.dumps(key, ensure_ascii=False)
        return name + self.separators[1] + self.format_value(value, indent)


def _require_object(value: JsonNode, path: KeyPath) -> JsonNode:
    if isinstance(value.data, dict):
        return value
    type_name = _TYPE_NAMES.get(type(value.data), "nothing")
    name = f"`{'.'.join(path)}`" if path else "the whole of it"
    raise ConfigEditError(f"{name} is {type_name} where an object with names is expected")


def _nest_value(path: KeyPath, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _find_indent(text: str, index: int) -> str:
    """Return the indent of the line that an index is on."""
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _find_line_end(text: str, index: int) -> int:
    """Return the index after the whitespace and comments that follow on the same line."""
    match = _REST_OF_LINE.match(text, index)
    return match.end() if match else index


def _append_member(text: str, style: _Style, node: JsonNode, key: str, value: Any) -> str:
    """Return `text` with a new member at the end of an object."""
    if not node.members:
        return _insert_first_member(text, style, node, key, value)
    last = node.members[-1]
    if "\n" not in text[node.start : last.start]:
        point = last.comma_end or last.value.end
        lead = " " if last.comma_end else style.separators[0]
        new = lead + replace(style, multiline=False).format_member(key, value, "")
        return text[:point] + new + ("," if last.comma_end else "") + text[point:]
    indent = _find_indent(text, last.start)
    new = style.newline + indent + style.format_member(key, value, indent)
    if last.comma_end:
        point = _find_line_end(text, last.comma_end)
        return text[:point] + new + "," + text[point:]
    end = last.value.end
    point = _find_line_end(text, end)
    return text[:end] + "," + text[end:point] + new + text[point:]


def _insert_first_member(text: str, style: _Style, node: JsonNode, key: str, value: Any) -> str:
    """Return `text` with a member in an object that has none."""
    inside = text[node.start + 1 : node.end - 1]
    outer = _find_indent(text, node.start)
    indent = outer + style.indent
    new = style.format_member(key, value, indent)
    if inside.strip():  # a comment, which may extend to the end of its line
        point = node.start + 1 + len(inside.rstrip())
        return text[:point] + style.newline + indent + new + text[point:]
    if style.multiline:
        new = style.newline + indent + new + style.newline + outer
    return text[: node.start + 1] + new + text[node.end - 1 :]


def _remove_member(text: str, node: JsonNode, member: JsonMember) -> str:
    """Return `text` without a member, and with the commas around it corrected."""
    start, end = member.start, member.comma_end or member.value.end
    position = [each.start for each in node.members].index(start)
    line_end = _REST_IS_BLANK.match(text, end)
    if position + 1 < len(node.members):
        line_start = text.rfind("\n", 0, start) + 1
        if line_end and line_start and not text[line_start:start].strip(" \t"):
            return text[:line_start] + text[line_end.end() :]
        return text[:start] + text[end:].lstrip(" \t")
    previous = node.members[position - 1] if position else None
    gap_start = (previous.comma_end or previous.value.end) if previous else node.start + 1
    # A `//` comment at the end of the previous line would swallow what follows on this one.
    comments = _COMMENT.findall(text[gap_start:start])
    if line_end or not any(comment.startswith("//") for comment in comments):
        start = _find_lead_start(text, start)
    else:
        start = len(text[:start].rstrip(" \t"))
    if previous is None and not (text[node.start + 1 : start] + text[end : node.end - 1]).strip():
        start, end = node.start + 1, node.end - 1
    if previous and previous.comma_end and member.comma_end is None:
        return text[: previous.comma_end - 1] + text[previous.comma_end : start] + text[end:]
    return text[:start] + text[end:]


def _find_lead_start(text: str, start: int) -> int:
    """Return where the whitespace before a member starts, including one line break."""
    before = text[:start].rstrip(" \t")
    return len(before.removesuffix("\n").removesuffix("\r"))
