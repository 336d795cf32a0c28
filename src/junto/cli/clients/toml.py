"""TOML as people keep it by hand: cut into statements, and values spelled as they are written."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from junto.cli.clients.forms import Path, UnchangeableError

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of a table's header or of one key; blanks and comments have no path."""

    text: str
    path: Path = ()
    header: bool = False


def pieces(text: str) -> Iterator[Piece]:
    """Cut a sound text; one more line is taken until the lines make sense together."""
    table, lines = Path(), ""
    for line in _LINE.findall(text):
        lines += line
        try:
            said = tomllib.loads(lines)
        except tomllib.TOMLDecodeError:
            continue
        if said and lines.lstrip().startswith("["):
            table = _header(said)
            yield Piece(lines, table, header=True)
        else:
            yield Piece(lines, (*table, next(iter(said))) if said else ())
        lines = ""


def _header(said: Any) -> Path:
    """Return the path that a table's header names; `[[names]]` of lists end in a list."""
    path = Path()
    while said:
        key, said = next(iter(said.items()))
        path = (*path, key)
        said = said[0] if isinstance(said, list) else said
    return path


def behind(statement: str) -> str:
    """Return what follows the value of a statement: blanks, a comment, the end of the line."""
    said = tomllib.loads(statement)
    for found in re.finditer("#", statement):
        value = statement[: found.start()]
        try:
            if tomllib.loads(value) == said:
                return statement[len(value.rstrip(" \t")) :]
        except tomllib.TOMLDecodeError:
            continue
    return statement[len(statement.rstrip()) :]


def key(name: str) -> str:
    """Return a name as it is written, in quotes if it needs them."""
    return name if _BARE.fullmatch(name) else shown(name)


def shown(value: Any) -> str:
    """Return a value as it is written on one line."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool() | int() | float():
            return json.dumps(value)
        case list():
            return "[" + ", ".join(shown(each) for each in value) + "]"
        case dict():
            pairs = (f"{key(name)} = {shown(each)}" for name, each in value.items())
            return "{ " + ", ".join(pairs) + " }" if value else "{}"
        case _:
            raise UnchangeableError("it holds a date where none is expected")
