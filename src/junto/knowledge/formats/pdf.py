"""Text of PDF files, page by page."""

import contextlib
from typing import Any

from junto.knowledge.formats.text import (
    ParserOutput,
    TextBuilder,
    UnreadableFileError,
    escape_markdown,
)

_PASSWORD_ERROR_CODE = 4
# Replaces the hyphen and line break of a word that is split across lines.
_LINE_END_HYPHEN = "\x02"


def parse_pdf(content: bytes, _codec: str | None) -> ParserOutput:
    """Return the text of a PDF; if it has several pages, each below a heading with its number.

    Raises:
        UnreadableFileError: it is encrypted, broken, or has no text.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        problem = "encrypted" if error.err_code == _PASSWORD_ERROR_CODE else "a broken PDF"
        raise UnreadableFileError(problem) from None
    with document:
        builder, page_count = TextBuilder(), len(document)
        for number in range(page_count):
            if text := _extract_page(document, number):
                builder.add(f"# Page {number + 1}\n\n{text}" if page_count > 1 else text)
        title = document.get_metadata_value("Title")
    text = builder.join("\n\n")
    if not text:
        raise UnreadableFileError("has no text, only pictures")
    return ParserOutput(text, title)


def _extract_page(document: Any, number: int) -> str:
    """Return the text of a page, or an empty string if the page is broken."""
    from pypdfium2 import PdfiumError

    with contextlib.suppress(PdfiumError):
        page = document[number]
        try:
            text_page = page.get_textpage()
            text: str = text_page.get_text_bounded()
            text_page.close()
            return escape_markdown(text.replace(_LINE_END_HYPHEN, "").replace("\r\n", "\n")).strip()
        finally:
            page.close()
    return ""
