"""Changes to one table of a TOML text; everything around it stays, comments and blanks included.

A text is cut into statements; those that do not change are joined again as they were. The standard
library's parser has the last word: a change that does not mean what it should is not made. The
libraries that keep comments count those above the next table to this one, and would take them out.
"""

import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from junto.cli.clients.forms import (
    Form,
    Path,
    UnchangeableError,
    UnreadableError,
    newline_of,
    place,
)
from junto.cli.clients.toml import Piece, behind, key, pieces, shown

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_GONE = object()


def read(text: str) -> Mapping[str, Any]:
    """Return what `text` says.

    Raises:
        UnreadableError: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        reason = _AT.sub("", str(error))
        reason = reason[:1].lower() + reason[1:]
        at = (int(found[1]), int(found[2])) if found and found[1] else place(text, len(text))
        raise UnreadableError(reason, *at) from error


def put(text: str, path: Path, value: Any) -> str:
    """Return `text` with a table at `path`, or with another value for one key of a table.

    Raises:
        UnchangeableError: something on the way is no table, or is written in an unusual way.
    """
    above: Any = read(text)
    for depth, name in enumerate(path[:-1], start=1):
        above = above.get(name, {})
        if not isinstance(above, dict):
            raise UnchangeableError(f"`{'.'.join(path[:depth])}` is no table")
    if path[-1] in above and above[path[-1]] == value:
        return text
    if isinstance(value, dict):
        changed = _with_table(take(text, path), path, value)
    elif any(piece.header and piece.path == path[:-1] for piece in pieces(text)):
        changed = _with_value(text, path, value)
    else:  # the table is an inline one
        return put(text, path[:-1], {**above, path[-1]: value})
    return _checked(text, changed, path, value)


def take(text: str, path: Path) -> str:
    """Return `text` without the table or the value at `path`, and the tables beneath it.

    Raises:
        UnchangeableError: it is written in an unusual way.
    """
    kept, loose, was_ours = list[Piece](), list[Piece](), False
    for piece in pieces(text):
        if not piece.path:
            loose.append(piece)
            continue
        ours = piece.path[: len(path)] == path
        if ours and was_ours:
            loose = []  # comments between our lines are about them
        elif ours and piece.header and loose and not loose[-1].text.strip():
            loose.pop()  # the blank line that set it off
        kept += loose if ours else [*loose, piece]
        loose, was_ours = [], ours
    changed = "".join(piece.text for piece in (*kept, *loose))
    if was_ours and not loose and not text.endswith("\n"):
        changed = changed.removesuffix("\n").removesuffix("\r")
    return _checked(text, changed, path, _GONE)


TOML = Form("TOML", read, put, take)


def _with_table(text: str, path: Path, table: Mapping[str, Any]) -> str:
    """Return `text` with a table at its end."""
    newline = newline_of(text)
    lines = [f"[{'.'.join(key(name) for name in path)}]"]
    lines += [f"{key(name)} = {shown(value)}" for name, value in table.items()]
    block = newline.join(lines)
    if not text:
        return text + block + newline
    if text.endswith("\n"):
        return text + newline + block + newline
    return text + newline + newline + block


def _with_value(text: str, path: Path, value: Any) -> str:
    """Return `text` with a value in a table that has a header."""
    found, newline = list(pieces(text)), newline_of(text)
    line = f"{key(path[-1])} = {shown(value)}"
    for index, piece in enumerate(found):
        if piece.path == path and not piece.header:
            indent = piece.text[: len(piece.text) - len(piece.text.lstrip(" \t"))]
            found[index] = Piece(indent + line + behind(piece.text))
            return "".join(each.text for each in found)
    own = [
        index
        for index, piece in enumerate(found)
        if (piece.path if piece.header else piece.path[:-1]) == path[:-1] and piece.path
    ]
    before = "".join(piece.text for piece in found[: own[-1] + 1])
    after = "".join(piece.text for piece in found[own[-1] + 1 :])
    if before.endswith("\n"):
        return before + line + newline + after
    return before + newline + line


def _checked(text: str, changed: str, path: Path, value: Any) -> str:
    """Return the changed text, if it means what it should.

    Raises:
        UnchangeableError: it does not.
    """
    wanted: Any = deepcopy(read(text))
    table = wanted
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table.pop(path[-1], None)
    if value is not _GONE:
        table[path[-1]] = value
    try:
        found = read(changed)
    except UnreadableError:
        found = {}
    if _filled(found) != _filled(wanted):
        where = ".".join(path)
        raise UnchangeableError(f"`{where}` is written in a way that cannot be changed safely")
    return changed


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without the empty ones in it, which need not be written at all."""
    return {name: value for name, value in table.items() if value != {}}
