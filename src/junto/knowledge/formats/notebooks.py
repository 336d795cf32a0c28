"""Notebooks: what is written in their cells, as Markdown with code between."""

from collections.abc import Iterator
from typing import Any

from junto.knowledge.formats.data import loaded
from junto.knowledge.formats.decoding import decoded_anyhow
from junto.knowledge.formats.markdown import first_heading
from junto.knowledge.formats.readable import UnreadableError
from junto.knowledge.formats.room import Parsed, Room


def read(content: bytes, codec: str | None) -> Parsed:
    """Return the cells of a notebook, without what they have put out.

    Raises:
        UnreadableError: it is none.
    """
    try:
        notebook = loaded(decoded_anyhow(content, codec))
    except ValueError:
        notebook = None
    room = Room()
    for cell in _cells(notebook):
        if source := _source(cell).strip("\n"):
            room.add(source if cell.get("cell_type") != "code" else _fenced(source))
    text = room.text("\n\n")
    return Parsed(text, first_heading(text))


def _cells(notebook: Any) -> Iterator[dict[str, Any]]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UnreadableError("not a notebook, though it is called one")
    yield from (cell for cell in cells if isinstance(cell, dict))


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def _fenced(code: str) -> str:
    fence = "~~~" if "```" in code else "```"
    return f"{fence}\n{code}\n{fence}"
