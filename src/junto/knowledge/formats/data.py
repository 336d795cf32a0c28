"""JSON as lines that can be read and searched."""

import json
from collections.abc import Iterator
from typing import Any

from junto.knowledge.formats.decoding import decoded_anyhow
from junto.knowledge.formats.readable import UnreadableError
from junto.knowledge.formats.room import Parsed, Room

_DEEPEST = 100
_WORDS = {True: "true", False: "false", None: "null"}


def read(content: bytes, codec: str | None) -> Parsed:
    """Return JSON as indented lines; what is not quite JSON, such as with comments, as it is.

    Raises:
        UnreadableError: it has too many levels, or is too long.
    """
    text = decoded_anyhow(content, codec)
    room = Room()
    try:
        value = loaded(text)
    except ValueError:
        room.add(text)
    else:
        _put(value, room)
    return Parsed(room.text("\n").strip())


def read_lines(content: bytes, codec: str | None) -> Parsed:
    """Return records, one on each line, as indented lines with a blank one between records.

    Raises:
        UnreadableError: one has too many levels, or all are too long.
    """
    room = Room()
    for line in decoded_anyhow(content, codec).split("\n"):
        try:
            value = loaded(line) if line.strip() else None
        except ValueError:
            value = line.strip()
        if value is not None:
            _put(value, room)
            room.add("")
    return Parsed(room.text("\n").strip())


def loaded(text: str) -> Any:
    """Return the value that JSON stands for, with numbers as they are written.

    Raises:
        ValueError: it is no JSON.
        UnreadableError: it has too many levels.
    """
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError:
        raise _too_deep() from None


def _put(value: Any, room: Room) -> None:
    for line in _lines(value, 0):
        room.add(line)


def _lines(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        raise _too_deep()
    indent = "  " * depth
    if isinstance(value, dict):
        named = ((f"{name}:", item) for name, item in value.items())
    elif isinstance(value, list):
        named = (("-", item) for item in value)
    else:
        yield _word(value)
        return
    for name, item in named:
        if isinstance(item, dict | list):
            yield f"{indent}{name}"
            yield from _lines(item, depth + 1)
        else:
            yield f"{indent}{name} {_word(item)}"
        if depth == 0 and isinstance(item, dict):
            yield ""  # what belongs together stays together when it is cut


def _word(value: Any) -> str:
    return value if isinstance(value, str) else _WORDS[value]


def _too_deep() -> UnreadableError:
    return UnreadableError(f"has more than {_DEEPEST} levels")
