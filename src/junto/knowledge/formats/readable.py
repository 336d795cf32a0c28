"""What comes out of a file, or why nothing does."""

from dataclasses import dataclass

from junto.domain.errors import JuntoError
from junto.knowledge.chunking import Shape

_LONGEST_TITLE = 200


class UnreadableError(JuntoError):
    """A file that cannot be read as text; the message says what it is, in a few words."""

    code = "IOError"


class BinaryError(UnreadableError):
    """A file that nobody would expect to be text."""


@dataclass(frozen=True, slots=True)
class Readable:
    """The text of a file."""

    text: str
    kind: str  # markdown, text, code, html, pdf, docx, epub, csv, json
    shape: Shape
    title: str | None = None  # the one that it gives itself


def clean(text: str) -> str:
    """Return text with one kind of line end, and without what no database takes."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def whole(text: str) -> str:
    """Return text without halves of characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str) -> str:
    """Return text as a line that is not too long for a title."""
    return " ".join(clean(whole(text[:5000])).split())[:_LONGEST_TITLE].strip()
