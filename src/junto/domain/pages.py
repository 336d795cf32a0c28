"""Web pages as text that a model can read: headings, paragraphs, lists, links, code.

Written by hand, because the standard library's parser takes quadratic time on what a hostile page
may hold. Every step here moves on, so a page takes time in proportion to its length.
"""

import html
import re
from dataclasses import dataclass, field

_SKIPPED = frozenset(
    {"script", "style", "noscript", "template", "svg", "head", "title", "iframe", "object"}
)
_BLOCKS = frozenset(
    {
        "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol",
        "table", "tr", "blockquote", "pre", "figure", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    }
)  # fmt: skip
_OPENINGS = dict.fromkeys(_BLOCKS, "\n\n ") | {
    f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)
}
_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9-]{0,40})")
_LINK = re.compile(r"""href\s{0,10}=\s{0,10}["']?(https?://[^"'\s>]{1,2000})""", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]{0,500}>([^<]{1,1000})", re.IGNORECASE)
# Where a title stands, if there is one.
_HEAD = 200_000
_BLANKS = re.compile(r"[ \t\r\n\f\v\xa0]+")
_GAPS = re.compile(r"\n{3,}")
# Python refuses to read a number of so many digits, and no character has one.
_NO_CHARACTER = re.compile(r"&#[0-9]{9,};?")


def readable(page: str) -> str:
    """Return the text of a page."""
    reader = _Reader(page)
    reader.read()
    return reader.text()


def titled(page: str) -> str | None:
    """Return the title that a page gives itself, in one line."""
    found = _TITLE.search(page, 0, _HEAD)
    return (_BLANKS.sub(" ", _unescaped(found[1])).strip() or None) if found else None


def _unescaped(text: str) -> str:
    return html.unescape(_NO_CHARACTER.sub("\ufffd", text)) if "&" in text else text


@dataclass(slots=True)
class _Reader:
    """Goes through a page once, from its beginning to its end."""

    page: str
    _at: int = 0
    _pieces: list[str] = field(default_factory=list)
    _done: list[str] = field(default_factory=list)
    _link: str | None = None
    _as_is: bool = False

    def read(self) -> None:
        while (tag := self.page.find("<", self._at)) >= 0:
            self._words(self.page[self._at : tag])
            end = self._end(tag)
            if end < 0:  # it is never closed, so nothing more can be told from words
                return
            if not self.page.startswith(("<!", "<?"), tag):
                self._tag(self.page[tag + 1 : end])
            self._at = max(end + 1, self._at)
        self._words(self.page[self._at :])

    def _end(self, tag: int) -> int:
        if self.page.startswith("<!--", tag):
            end = self.page.find("-->", tag + 4)
            return end + 2 if end >= 0 else -1
        return self.page.find(">", tag)

    def _words(self, text: str) -> None:
        if text:
            text = _unescaped(text)
            self._pieces.append(text if self._as_is else _BLANKS.sub(" ", text))

    def _tag(self, inside: str) -> None:
        found = _NAME.match(inside)
        if found is None:
            self._words(f"<{inside}>"[:200])
            return
        name, closes = found[1].lower(), inside.startswith("/")
        if name in _SKIPPED and not closes and not inside.endswith("/"):
            self._skip(name)
        elif closes:
            self._closed(name)
        else:
            self._opened(name, inside)

    def _skip(self, name: str) -> None:
        """Go on behind the end of what nobody sees; without an end, nothing more is seen."""
        # A head need not be closed; a body ends it, too.
        ends = "</head|<body" if name == "head" else f"</{name}"
        end = re.compile(ends, re.IGNORECASE).search(self.page, self._at + 1)
        self._at = end.start() if end else len(self.page)

    def _opened(self, name: str, inside: str) -> None:
        if name == "br":
            self._pieces.append("\n")
        elif self._as_is:
            self._begin_line(name)
        elif name == "li":
            self._pieces.append("\n- ")
        elif name in ("td", "th"):
            self._pieces.append(" | ")
        elif name == "a":
            found = _LINK.search(inside[:5000])
            self._link = _unescaped(found[1]) if found else None
        elif name == "pre":
            self._finish()
            self._as_is = True
        elif name in _BLOCKS:
            self._pieces.append(_OPENINGS[name])

    def _begin_line(self, name: str) -> None:
        """Put a block in code, which some pages use for a line of it, on a line of its own."""
        if name in _BLOCKS and self._pieces and not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")

    def _closed(self, name: str) -> None:
        if self._as_is:
            if name == "pre":
                self._finish()
        elif name == "a" and self._link:
            self._pieces.append(f" ({self._link})")
            self._link = None
        elif name in _BLOCKS:
            self._pieces.append("\n\n")

    def _finish(self) -> None:
        """Put what was read so far aside: code as it is, all else without needless blanks."""
        text = "".join(self._pieces)
        self._pieces.clear()
        if self._as_is:
            self._as_is = False
            text = _fenced(text)
        else:
            lines = (line.strip() for line in text.splitlines())
            text = _GAPS.sub("\n\n", "\n".join(lines)).strip()
        if text:
            self._done.append(text)

    def text(self) -> str:
        self._finish()
        return "\n\n".join(self._done)


def _fenced(code: str) -> str:
    """Return code in a fence, or what looks like a heading in it would be taken for one."""
    code = "\n".join(line.rstrip() for line in code.splitlines()).strip("\n")
    fence = "~~~" if "```" in code else "```"
    return f"{fence}\n{code}\n{fence}" if code else ""
