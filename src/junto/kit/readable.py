"""Web pages as text that a model can read: headings, paragraphs, lists, links."""

import re
from html.parser import HTMLParser

from typing_extensions import override

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {
        "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol",
        "table", "tr", "blockquote", "pre", "figure", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    }
)  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLANKS = re.compile(r"[ \t\r\f\v\xa0]+")
_GAPS = re.compile(r"\n\s*\n\s*")


def readable(html: str) -> str:
    """Return the text of a page."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    """Collects what a person would see; nothing is nested, so nothing can be nested too deep."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._skipping: str | None = None
        self._depth = 0
        self._link: str | None = None
        self._as_is = False

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipping:
            self._depth += tag == self._skipping
            return
        if tag in _SKIPPED:
            self._skipping, self._depth = tag, 1
        elif tag == "br":
            self._pieces.append("\n")
        elif tag == "li":
            self._pieces.append("\n- ")
        elif tag in ("td", "th"):
            self._pieces.append(" | ")
        elif tag == "a":
            self._link = dict(attrs).get("href")
        elif tag in _BLOCKS:
            self._pieces.append(f"\n\n{_HEADINGS.get(tag, '')} ")
            self._as_is = self._as_is or tag == "pre"

    @override
    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            self._depth -= tag == self._skipping
            if self._depth == 0:
                self._skipping = None
        elif tag == "a" and self._link:
            if self._link.startswith(("http://", "https://")):
                self._pieces.append(f" ({self._link})")
            self._link = None
        elif tag in _BLOCKS:
            self._pieces.append("\n\n")
            self._as_is = self._as_is and tag != "pre"

    @override
    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._pieces.append(data if self._as_is else _BLANKS.sub(" ", data.replace("\n", " ")))

    def text(self) -> str:
        lines = (line.strip() for line in "".join(self._pieces).splitlines())
        return _GAPS.sub("\n\n", "\n".join(lines)).strip()
