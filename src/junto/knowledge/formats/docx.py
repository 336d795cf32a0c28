"""Text of Word files (DOCX): paragraphs, headings, lists and tables in order."""

from collections.abc import Iterator
from typing import Any

from junto.knowledge.formats.archives import open_archive, repack_archive
from junto.knowledge.formats.text import (
    ParserOutput,
    TextBuilder,
    UnreadableFileError,
    escape_markdown,
)

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _CELL = f"{_W}p", f"{_W}tbl", f"{_W}tr", f"{_W}tc"
# Deleted text, formatting properties, and alternatives to content that is present as well.
_HIDDEN_TAGS = frozenset(
    {
        f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", f"{_W}sectPr",
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    }
)  # fmt: skip
_TEXT_BY_TAG = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_MAX_HEADING_LEVEL = 6


def parse_docx(content: bytes, _codec: str | None) -> ParserOutput:
    """Return the text of a Word file as Markdown.

    Raises:
        UnreadableFileError: it is not a valid DOCX file, or unpacks to too much.
    """
    import docx
    from docx.opc.exceptions import OpcError

    archive = repack_archive(open_archive(content))
    try:
        document = docx.Document(archive)
    except (KeyError, ValueError, OpcError):
        raise UnreadableFileError("a broken DOCX: no document is in it") from None
    styles = {style.style_id: (style.name or "").lower() for style in document.styles}
    builder, title = TextBuilder(), document.core_properties.title
    for block in _iter_outermost(document.element.body, {_PARAGRAPH, _TABLE}):
        if block.tag == _TABLE:
            builder.add("\n".join(_iter_table_rows(block)))
        elif text := "".join(_iter_text(block)).strip():
            style = _find_style(block, styles)
            builder.add(f"{_format_prefix(block, style)}{escape_markdown(text)}")
            title = title or (text if style == "title" else None)
    return ParserOutput(builder.join("\n\n"), title)


def _iter_outermost(element: Any, tags: set[str]) -> Iterator[Any]:
    """Yield the descendants with one of these tags that are not inside another such one."""
    for child in element:
        if child.tag in tags:
            yield child
        elif isinstance(child.tag, str) and child.tag not in _HIDDEN_TAGS:
            yield from _iter_outermost(child, tags)


def _iter_text(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _TEXT_BY_TAG:
            yield _TEXT_BY_TAG[child.tag]
        elif isinstance(child.tag, str) and child.tag not in _HIDDEN_TAGS:
            yield from _iter_text(child)
            if child.tag == _PARAGRAPH:  # in a text box or a cell
                yield "\n"


def _iter_table_rows(table: Any) -> Iterator[str]:
    for row in _iter_outermost(table, {_ROW}):
        cells = (
            " ".join("".join(_iter_text(cell)).split()) for cell in _iter_outermost(row, {_CELL})
        )
        yield escape_markdown(" | ".join(cells).rstrip(" |"))


def _find_style(paragraph: Any, styles: dict[str, str]) -> str:
    style_reference = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return styles.get(style_reference.get(f"{_W}val"), "") if style_reference is not None else ""


def _format_prefix(paragraph: Any, style: str) -> str:
    """Return the Markdown prefix of a paragraph."""
    kind, _, level = style.rpartition(" ")
    if kind == "heading" and level.isdecimal():
        return "#" * min(max(int(level), 1), _MAX_HEADING_LEVEL) + " "
    if style == "title":
        return "# "
    is_list_item = style.startswith("list") or paragraph.find(f"{_W}pPr/{_W}numPr") is not None
    return "- " if is_list_item else ""
