"""CSV and TSV tables as lines of labelled values."""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain

from junto.knowledge.formats.decoder import decode_or_guess
from junto.knowledge.formats.text import MAX_TEXT_CHARS, ParserOutput, TextBuilder

_SAMPLE_CHARS, _MAX_NAME_CHARS = 4096, 80
_SEPARATORS = ",;\t|"


def parse_csv(content: bytes, codec: str | None) -> ParserOutput:
    """Return a CSV table as text, with a line for each row.

    Raises:
        UnreadableFileError: the text is too long.
    """
    text = decode_or_guess(content, codec)
    return _parse_table(text, _detect_separator(text[:_SAMPLE_CHARS]))


def parse_tsv(content: bytes, codec: str | None) -> ParserOutput:
    """Return a table of tab-separated values as text, with a line for each row.

    Raises:
        UnreadableFileError: the text is too long.
    """
    return _parse_table(decode_or_guess(content, codec), "\t")


def _parse_table(text: str, separator: str) -> ParserOutput:
    csv.field_size_limit(MAX_TEXT_CHARS)
    builder, rows = TextBuilder(), _iter_rows(text, separator)
    first_row = next(rows, [])
    names = [name[:_MAX_NAME_CHARS] for name in first_row] if _is_header(first_row) else []
    for row in rows if names else chain([first_row], rows):
        if (
            line := "; ".join(_iter_labelled_values(names, row))
            if names
            else " | ".join(filter(None, row))
        ):
            builder.add(line)
    return ParserOutput(builder.join("\n") or "; ".join(names))


def _iter_rows(text: str, separator: str) -> Iterator[list[str]]:
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
        yield [" ".join(value.split()) for value in row]


def _iter_labelled_values(names: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    for number, value in enumerate(row):
        if value:
            yield f"{names[number]}: {value}" if number < len(names) else value


def _detect_separator(sample: str) -> str:
    lines = sample[: sample.rfind("\n") + 1] or sample
    try:
        return csv.Sniffer().sniff(lines, _SEPARATORS).delimiter
    except csv.Error:
        return max(_SEPARATORS, key=lines.count)


def _is_header(row: Sequence[str]) -> bool:
    """Return whether a row has column names: none is missing, duplicate or a number."""
    return bool(row) and all(row) and len({*row}) == len(row) and not any(map(_is_number, row))


def _is_number(value: str) -> bool:
    try:
        float(value.replace(",", ".").strip("%$€£ "))
    except ValueError:
        return False
    return True
