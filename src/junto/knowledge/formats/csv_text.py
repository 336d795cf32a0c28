"""Tables of commas or tabs as lines that say what each value is."""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain

from junto.knowledge.formats.decoding import decoded_anyhow
from junto.knowledge.formats.room import MOST_CHARACTERS, Parsed, Room

_SAMPLE, _LONGEST_NAME = 4096, 80
_SEPARATORS = ",;\t|"


def read(content: bytes, codec: str | None) -> Parsed:
    """Return a table, each row as a line.

    Raises:
        UnreadableError: it is too long.
    """
    text = decoded_anyhow(content, codec)
    return _read(text, _separator(text[:_SAMPLE]))


def read_tabs(content: bytes, codec: str | None) -> Parsed:
    """Return a table whose values stand apart by tabs.

    Raises:
        UnreadableError: it is too long.
    """
    return _read(decoded_anyhow(content, codec), "\t")


def _read(text: str, separator: str) -> Parsed:
    csv.field_size_limit(MOST_CHARACTERS)
    room, rows = Room(), _rows(text, separator)
    first = next(rows, [])
    names = [name[:_LONGEST_NAME] for name in first] if _names(first) else []
    for row in rows if names else chain([first], rows):
        if line := "; ".join(_said(names, row)) if names else " | ".join(filter(None, row)):
            room.add(line)
    return Parsed(room.text("\n") or "; ".join(names))


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
        yield [" ".join(value.split()) for value in row]


def _said(names: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    for number, value in enumerate(row):
        if value:
            yield f"{names[number]}: {value}" if number < len(names) else value


def _separator(sample: str) -> str:
    whole = sample[: sample.rfind("\n") + 1] or sample
    try:
        return csv.Sniffer().sniff(whole, _SEPARATORS).delimiter
    except csv.Error:
        return max(_SEPARATORS, key=whole.count)


def _names(row: Sequence[str]) -> bool:
    """Return whether a row has names of columns: none is missing, there twice, or a number."""
    return bool(row) and all(row) and len({*row}) == len(row) and not any(map(_number, row))


def _number(value: str) -> bool:
    try:
        float(value.replace(",", ".").strip("%$€£ "))
    except ValueError:
        return False
    return True
