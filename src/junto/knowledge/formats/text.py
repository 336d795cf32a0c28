"""Results and errors of file parsers, and the functions that clean up text and titles."""

import re
from dataclasses import dataclass, field

from junto.domain.errors import JuntoError
from junto.knowledge.chunking import TextStructure

MAX_TEXT_CHARS = 16_000_000
_MAX_TITLE_CHARS = 200
# Only the beginning of a text is searched for a title.
_TITLE_WITHIN_CHARS = 20_000
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,4000}?)\n---[ \t]*\n", re.DOTALL)
_FRONT_MATTER_TITLE = re.compile(r"^title:[ \t]*(\S.{0,300})", re.MULTILINE)
_HEADING = re.compile(
    r"^(?:[ ]{0,3}(?P<fence>```|~~~)|[ ]{0,3}#{1,6}[ \t]+(?P<marked>\S.{0,300})"
    r"|(?P<underlined>[^\s#>|-].{0,200})\n(?:={3,}|-{3,})[ \t]*$)",
    re.MULTILINE,
)
_ACCIDENTAL_MARKUP = re.compile(r"^([ \t]{0,3})(?=#{1,6}[ \t]|```|~~~)", re.MULTILINE)


class UnreadableFileError(JuntoError):
    """A file that cannot be read as text; the message says why."""

    code = "IOError"


class BinaryFileError(UnreadableFileError):
    """A binary file in no known format."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a file."""

    text: str
    kind: str  # markdown, text, code, html, pdf, docx, epub, csv, json
    structure: TextStructure
    title: str | None = None  # as stated in the file


@dataclass(frozen=True, slots=True)
class ParserOutput:
    """The text of a file, and its title if the file states one."""

    text: str
    title: str | None = None


@dataclass(slots=True)
class TextBuilder:
    """Pieces of text, limited in their total length."""

    _pieces: list[str] = field(default_factory=list)
    _char_count: int = 0

    def add(self, piece: str) -> None:
        """Append a piece.

        Raises:
            UnreadableFileError: the text is too long.
        """
        self._pieces.append(piece)
        self._char_count += len(piece) + 1
        if self._char_count > MAX_TEXT_CHARS:
            raise UnreadableFileError(
                f"holds more than {MAX_TEXT_CHARS // 1_000_000} million characters of text"
            )

    def join(self, separator: str) -> str:
        """Return the pieces as one text."""
        return separator.join(self._pieces)


def clean_text(text: str) -> str:
    """Return text with uniform line ends, and without NUL, which databases reject."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def replace_surrogates(text: str) -> str:
    """Return text without lone surrogates, which cannot be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_single_line(text: str) -> str:
    """Return text as a single line that is short enough for a title."""
    return " ".join(clean_text(replace_surrogates(text[:5000])).split())[:_MAX_TITLE_CHARS].strip()


def find_heading(text: str) -> str | None:
    """Return the title of a Markdown text: from its front matter, or its first heading."""
    start = text[:_TITLE_WITHIN_CHARS].replace("\r\n", "\n")
    front_matter = _FRONT_MATTER.match(start)
    if front_matter and (title := _FRONT_MATTER_TITLE.search(front_matter[1])):
        return title[1].strip().strip("\"'")
    fence = ""
    for match in _HEADING.finditer(start, front_matter.end() if front_matter else 0):
        if match["fence"]:
            fence = "" if fence == match["fence"] else fence or match["fence"]
        elif not fence:
            return (match["marked"] or match["underlined"]).strip(" #\t")
    return None


def escape_markdown(text: str) -> str:
    """Return text in which no line is taken for a heading or a fence."""
    return _ACCIDENTAL_MARKUP.sub(r"\1\\", text)
