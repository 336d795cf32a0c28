"""JSON, JSON Lines and Jupyter notebooks as text that can be read and searched."""

import json
from collections.abc import Iterator
from typing import Any

from junto.knowledge.formats.decoder import decode_or_guess
from junto.knowledge.formats.text import (
    ParserOutput,
    TextBuilder,
    UnreadableFileError,
    find_heading,
)

_MAX_DEPTH = 100
_LITERALS = {True: "true", False: "false", None: "null"}


def parse_json(content: bytes, codec: str | None) -> ParserOutput:
    """Return JSON as indented lines; invalid JSON, such as with comments, as it is.

    Raises:
        UnreadableFileError: it has too many levels, or is too long.
    """
    text = decode_or_guess(content, codec)
    builder = TextBuilder()
    try:
        value = _load_json(text)
    except ValueError:
        builder.add(text)
    else:
        _add_value(value, builder)
    return ParserOutput(builder.join("\n").strip())


def parse_json_lines(content: bytes, codec: str | None) -> ParserOutput:
    """Return JSON Lines as indented lines, with a blank line between records.

    Raises:
        UnreadableFileError: a record has too many levels, or the text is too long.
    """
    builder = TextBuilder()
    for line in decode_or_guess(content, codec).split("\n"):
        try:
            value = _load_json(line) if line.strip() else None
        except ValueError:
            value = line.strip()
        if value is not None:
            _add_value(value, builder)
            builder.add("")
    return ParserOutput(builder.join("\n").strip())


def _load_json(text: str) -> Any:
    """Parse JSON, keeping numbers as they are written.

    Raises:
        ValueError: it is not valid JSON.
        UnreadableFileError: it has too many levels.
    """
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError:
        raise _too_deep_error() from None


def _add_value(value: Any, builder: TextBuilder) -> None:
    for line in _iter_lines(value, 0):
        builder.add(line)


def _iter_lines(value: Any, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        raise _too_deep_error()
    indent = "  " * depth
    if isinstance(value, dict):
        labelled = ((f"{label}:", item) for label, item in value.items())
    elif isinstance(value, list):
        labelled = (("-", item) for item in value)
    else:
        yield _format_scalar(value)
        return
    for label, item in labelled:
        if isinstance(item, dict | list):
            yield f"{indent}{label}"
            yield from _iter_lines(item, depth + 1)
        else:
            yield f"{indent}{label} {_format_scalar(item)}"
        if depth == 0 and isinstance(item, dict):
            yield ""  # so that chunking keeps the item together


def _format_scalar(value: Any) -> str:
    return value if isinstance(value, str) else _LITERALS[value]


def _too_deep_error() -> UnreadableFileError:
    return UnreadableFileError(f"has more than {_MAX_DEPTH} levels")


def parse_notebook(content: bytes, codec: str | None) -> ParserOutput:
    """Return the cells of a notebook, without their outputs.

    Raises:
        UnreadableFileError: it is not a notebook.
    """
    try:
        notebook = _load_json(decode_or_guess(content, codec))
    except ValueError:
        notebook = None
    builder = TextBuilder()
    for cell in _iter_cells(notebook):
        if source := _join_source(cell).strip("\n"):
            builder.add(source if cell.get("cell_type") != "code" else _fence_code(source))
    text = builder.join("\n\n")
    return ParserOutput(text, find_heading(text))


def _iter_cells(notebook: Any) -> Iterator[dict[str, Any]]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UnreadableFileError("not a notebook, though it is called one")
    yield from (cell for cell in cells if isinstance(cell, dict))


def _join_source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def _fence_code(code: str) -> str:
    fence = "~~~" if "```" in code else "```"
    return f"{fence}\n{code}\n{fence}"
