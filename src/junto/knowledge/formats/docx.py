"""The text of Word files (DOCX): paragraphs, headings, lists and tables in their order."""

from collections.abc import Iterator
from typing import Any

from junto.knowledge.formats.archives import opened, repacked
from junto.knowledge.formats.markdown import escaped
from junto.knowledge.formats.readable import UnreadableError
from junto.knowledge.formats.room import Parsed, Room

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_P, _TABLE, _ROW, _CELL = f"{_W}p", f"{_W}tbl", f"{_W}tr", f"{_W}tc"
# What was deleted, what describes, and a second form of what stands beside it.
_UNSEEN = frozenset(
    {
        f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", f"{_W}sectPr",
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    }
)  # fmt: skip
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_DEEPEST_HEADING = 6


def read(content: bytes, _codec: str | None) -> Parsed:
    """Return the text of a Word file as Markdown.

    Raises:
        UnreadableError: it unpacks to too much, or is none.
    """
    import docx
    from docx.opc.exceptions import OpcError

    packed = repacked(opened(content))
    try:
        document = docx.Document(packed)
    except (KeyError, ValueError, OpcError):
        raise UnreadableError("a broken DOCX: no document is in it") from None
    styles = {style.style_id: (style.name or "").lower() for style in document.styles}
    room, title = Room(), document.core_properties.title
    for block in _inside(document.element.body, {_P, _TABLE}):
        if block.tag == _TABLE:
            room.add("\n".join(_rows(block)))
        elif words := "".join(_words(block)).strip():
            style = _style(block, styles)
            room.add(f"{_mark(block, style)}{escaped(words)}")
            title = title or (words if style == "title" else None)
    return Parsed(room.text("\n\n"), title)


def _inside(element: Any, tags: set[str]) -> Iterator[Any]:
    """Yield what has one of these tags, whatever it is wrapped in, and not what is in it again."""
    for child in element:
        if child.tag in tags:
            yield child
        elif isinstance(child.tag, str) and child.tag not in _UNSEEN:
            yield from _inside(child, tags)


def _words(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif isinstance(child.tag, str) and child.tag not in _UNSEEN:
            yield from _words(child)
            if child.tag == _P:  # in a box or a cell
                yield "\n"


def _rows(table: Any) -> Iterator[str]:
    for row in _inside(table, {_ROW}):
        cells = (" ".join("".join(_words(cell)).split()) for cell in _inside(row, {_CELL}))
        yield escaped(" | ".join(cells).rstrip(" |"))


def _style(paragraph: Any, styles: dict[str, str]) -> str:
    named = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return styles.get(named.get(f"{_W}val"), "") if named is not None else ""


def _mark(paragraph: Any, style: str) -> str:
    """Return what a paragraph begins with in Markdown."""
    kind, _, level = style.rpartition(" ")
    if kind == "heading" and level.isdecimal():
        return "#" * min(max(int(level), 1), _DEEPEST_HEADING) + " "
    if style == "title":
        return "# "
    listed = style.startswith("list") or paragraph.find(f"{_W}pPr/{_W}numPr") is not None
    return "- " if listed else ""
