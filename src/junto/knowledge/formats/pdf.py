"""The text of PDF files, page by page."""

import contextlib
from typing import Any

from junto.knowledge.formats.markdown import escaped
from junto.knowledge.formats.readable import UnreadableError
from junto.knowledge.formats.room import Parsed, Room

_NO_PASSWORD = 4
# Stands where a word was parted at the end of a line, for hyphen and line end.
_PARTED = "\x02"


def read(content: bytes, _codec: str | None) -> Parsed:
    """Return the text of a PDF; if it has several pages, each beneath its number.

    Raises:
        UnreadableError: it is encrypted, broken, or has no text.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        problem = "encrypted" if error.err_code == _NO_PASSWORD else "a broken PDF"
        raise UnreadableError(problem) from None
    with document:
        room, pages = Room(), len(document)
        for number in range(pages):
            if text := _page(document, number):
                room.add(f"# Page {number + 1}\n\n{text}" if pages > 1 else text)
        title = document.get_metadata_value("Title")
    text = room.text("\n\n")
    if not text:
        raise UnreadableError("has no text, only pictures")
    return Parsed(text, title)


def _page(document: Any, number: int) -> str:
    """Return the text of a page; that of a broken one is lost, and of that one alone."""
    from pypdfium2 import PdfiumError

    with contextlib.suppress(PdfiumError):
        page = document[number]
        try:
            words = page.get_textpage()
            text: str = words.get_text_bounded()
            words.close()
            return escaped(text.replace(_PARTED, "").replace("\r\n", "\n")).strip()
        finally:
            page.close()
    return ""
