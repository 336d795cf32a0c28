"""Edits of one table in a TOML text that preserve everything else, including comments.

A text is split into statements, and those that do not change are joined again as they were. Every
result is parsed with the standard library, and an edit that does not have the intended effect is
rejected. Libraries that preserve comments are not used: they assign the comments above the next
table to this one, and would delete them with it.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from junto.cli.clients.formats import (
    ConfigEditError,
    ConfigFormat,
    ConfigSyntaxError,
    KeyPath,
    detect_newline,
    find_line_and_column,
)

_ERROR_POSITION = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_LINE_PATTERN = re.compile(r"[^\n]*\n|[^\n]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_REMOVED = object()


def parse(text: str) -> Mapping[str, Any]:
    """Return the data in `text`.

    Raises:
        ConfigSyntaxError: the text is not valid TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _ERROR_POSITION.search(str(error))
        reason = _ERROR_POSITION.sub("", str(error))
        reason = reason[:1].lower() + reason[1:]
        position = (
            (int(match[1]), int(match[2]))
            if match and match[1]
            else find_line_and_column(text, len(text))
        )
        raise ConfigSyntaxError(reason, *position) from error


def set_value(text: str, path: KeyPath, value: Any) -> str:
    """Return `text` with a table at `path`, or with a new value for one key of a table.

    Raises:
        ConfigEditError: a parent is not a table, or is written in an unusual way.
    """
    parent: Any = parse(text)
    for depth, name in enumerate(path[:-1], start=1):
        parent = parent.get(name, {})
        if not isinstance(parent, dict):
            raise ConfigEditError(f"`{'.'.join(path[:depth])}` is no table")
    if path[-1] in parent and parent[path[-1]] == value:
        return text
    if isinstance(value, dict):
        changed = _append_table(remove_value(text, path), path, value)
    elif any(
        statement.is_header and statement.path == path[:-1] for statement in _split_statements(text)
    ):
        changed = _set_table_key(text, path, value)
    else:  # an inline table
        return set_value(text, path[:-1], {**parent, path[-1]: value})
    return _verify_change(text, changed, path, value)


def remove_value(text: str, path: KeyPath) -> str:
    """Return `text` without the table or value at `path` and its subtables.

    Raises:
        ConfigEditError: it is written in an unusual way.
    """
    remaining, pending, was_target = list[_Statement](), list[_Statement](), False
    for statement in _split_statements(text):
        if not statement.path:
            pending.append(statement)
            continue
        is_target = statement.path[: len(path)] == path
        if is_target and was_target:
            pending = []  # comments between the removed lines belong to them
        elif is_target and statement.is_header and pending and not pending[-1].text.strip():
            pending.pop()  # the blank line above the header
        remaining += pending if is_target else [*pending, statement]
        pending, was_target = [], is_target
    changed = "".join(statement.text for statement in (*remaining, *pending))
    if was_target and not pending and not text.endswith("\n"):
        changed = changed.removesuffix("\n").removesuffix("\r")
    return _verify_change(text, changed, path, _REMOVED)


TOML = ConfigFormat("TOML", parse, set_value, remove_value)


def _append_table(text: str, path: KeyPath, table: Mapping[str, Any]) -> str:
    """Return `text` with a table at its end."""
    newline = detect_newline(text)
    lines = [f"[{'.'.join(_format_key(name) for name in path)}]"]
    lines += [f"{_format_key(name)} = {_format_value(value)}" for name, value in table.items()]
    block = newline.join(lines)
    if not text:
        return text + block + newline
    if text.endswith("\n"):
        return text + newline + block + newline
    return text + newline + newline + block


def _set_table_key(text: str, path: KeyPath, value: Any) -> str:
    """Return `text` with a value set in a table that has a header."""
    statements, newline = list(_split_statements(text)), detect_newline(text)
    line = f"{_format_key(path[-1])} = {_format_value(value)}"
    for index, statement in enumerate(statements):
        if statement.path == path and not statement.is_header:
            indent = statement.text[: len(statement.text) - len(statement.text.lstrip(" \t"))]
            statements[index] = _Statement(indent + line + _find_trailing_text(statement.text))
            return "".join(each.text for each in statements)
    in_table = [
        index
        for index, statement in enumerate(statements)
        if (statement.path if statement.is_header else statement.path[:-1]) == path[:-1]
        and statement.path
    ]
    before = "".join(statement.text for statement in statements[: in_table[-1] + 1])
    after = "".join(statement.text for statement in statements[in_table[-1] + 1 :])
    if before.endswith("\n"):
        return before + line + newline + after
    return before + newline + line


def _verify_change(text: str, new_text: str, path: KeyPath, value: Any) -> str:
    """Return `new_text` if it parses to the expected data.

    Raises:
        ConfigEditError: it does not.
    """
    expected: Any = deepcopy(parse(text))
    table = expected
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table.pop(path[-1], None)
    if value is not _REMOVED:
        table[path[-1]] = value
    try:
        actual = parse(new_text)
    except ConfigSyntaxError:
        actual = {}
    if _drop_empty_tables(actual) != _drop_empty_tables(expected):
        where = ".".join(path)
        raise ConfigEditError(f"`{where}` is written in a way that cannot be changed safely")
    return new_text


def _drop_empty_tables(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without its empty subtables, which TOML may leave out."""
    return {name: value for name, value in table.items() if value != {}}


@dataclass(frozen=True, slots=True)
class _Statement:
    """The lines of a table header or of one key; blank lines and comments have no path."""

    text: str
    path: KeyPath = ()
    is_header: bool = False


def _split_statements(text: str) -> Iterator[_Statement]:
    """Split a valid text: lines are added to a statement until it parses."""
    table, lines = KeyPath(), ""
    for line in _LINE_PATTERN.findall(text):
        lines += line
        try:
            data = tomllib.loads(lines)
        except tomllib.TOMLDecodeError:
            continue
        if data and lines.lstrip().startswith("["):
            table = _parse_header_path(data)
            yield _Statement(lines, table, is_header=True)
        else:
            yield _Statement(lines, (*table, next(iter(data))) if data else ())
        lines = ""


def _parse_header_path(table: Any) -> KeyPath:
    """Return the path of a parsed table header; `[[name]]` is parsed as a list."""
    path = KeyPath()
    while table:
        key, table = next(iter(table.items()))
        path = (*path, key)
        table = table[0] if isinstance(table, list) else table
    return path


def _find_trailing_text(statement: str) -> str:
    """Return what follows the value of a statement: whitespace, a comment, the line ending."""
    data = tomllib.loads(statement)
    for match in re.finditer("#", statement):
        candidate = statement[: match.start()]
        try:
            if tomllib.loads(candidate) == data:
                return statement[len(candidate.rstrip(" \t")) :]
        except tomllib.TOMLDecodeError:
            continue
    return statement[len(statement.rstrip()) :]


def _format_key(name: str) -> str:
    """Return a key as TOML, in quotes if necessary."""
    return name if _BARE_KEY.fullmatch(name) else _format_value(name)


def _format_value(value: Any) -> str:
    """Return a value as TOML on one line."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool() | int() | float():
            return json.dumps(value)
        case list():
            return "[" + ", ".join(_format_value(each) for each in value) + "]"
        case dict():
            pairs = (f"{_format_key(name)} = {_format_value(each)}" for name, each in value.items())
            return "{ " + ", ".join(pairs) + " }" if value else "{}"
        case _:
            raise ConfigEditError("it holds a date where none is expected")
