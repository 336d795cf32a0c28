"""Web pages as text that a model can read: headings, paragraphs, lists, links.

Written by hand, because the standard library's parser takes quadratic time on what a hostile page
may hold. Every step here moves on, so a page takes time in proportion to its length.
"""

import html
import re
from dataclasses import dataclass, field

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {
        "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol",
        "table", "tr", "blockquote", "pre", "figure", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    }
)  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9-]{0,40})")
_LINK = re.compile(r"""href\s{0,10}=\s{0,10}["']?(https?://[^"'\s>]{1,2000})""", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\f\v\xa0]+")
_GAPS = re.compile(r"\n{3,}")


def readable(page: str) -> str:
    """Return the text of a page."""
    reader = _Reader(page)
    reader.read()
    return reader.text()


@dataclass(slots=True)
class _Reader:
    """Goes through a page once, from its beginning to its end."""

    page: str
    _at: int = 0
    _pieces: list[str] = field(default_factory=list)
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
            text = html.unescape(text)
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
        end = re.compile(f"</{name}", re.IGNORECASE).search(self.page, self._at + 1)
        self._at = end.start() if end else len(self.page)

    def _opened(self, name: str, inside: str) -> None:
        if name == "br":
            self._pieces.append("\n")
        elif name == "li":
            self._pieces.append("\n- ")
        elif name in ("td", "th"):
            self._pieces.append(" | ")
        elif name == "a":
            found = _LINK.search(inside[:5000])
            self._link = html.unescape(found[1]) if found else None
        elif name in _BLOCKS:
            self._pieces.append(f"\n\n{_HEADINGS.get(name, '')} ")
            self._as_is = self._as_is or name == "pre"

    def _closed(self, name: str) -> None:
        if name == "a" and self._link:
            self._pieces.append(f" ({self._link})")
            self._link = None
        elif name in _BLOCKS:
            self._pieces.append("\n\n")
            self._as_is = self._as_is and name != "pre"

    def text(self) -> str:
        lines = (line.strip() for line in "".join(self._pieces).splitlines())
        return _GAPS.sub("\n\n", "\n".join(lines)).strip()
