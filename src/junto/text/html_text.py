"""Conversion of HTML to text a model can read: headings, paragraphs, lists, links, code.

The parser is hand-written because the standard library's takes quadratic time on hostile pages.
Here every step advances, so the time is proportional to the length of the page.
"""

import html
import re
from dataclasses import dataclass, field

_SKIPPED_TAGS = frozenset(
    {"script", "style", "noscript", "template", "svg", "head", "title", "iframe", "object"}
)
_BLOCK_TAGS = frozenset(
    {
        "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol",
        "table", "tr", "blockquote", "pre", "figure", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    }
)  # fmt: skip
_BLOCK_PREFIXES = dict.fromkeys(_BLOCK_TAGS, "\n\n ") | {
    f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)
}
_TAG_NAME_PATTERN = re.compile(r"/?([a-zA-Z][a-zA-Z0-9-]{0,40})")
_HREF_PATTERN = re.compile(
    r"""href\s{0,10}=\s{0,10}["']?(https?://[^"'\s>]{1,2000})""", re.IGNORECASE
)
_TITLE_PATTERN = re.compile(r"<title\b[^<>]{0,500}>([^<]{1,1000})", re.IGNORECASE)
# Only the start of a page is searched for its title.
_MAX_HEAD_CHARS = 200_000
_WHITESPACE_PATTERN = re.compile(r"[ \t\r\n\f\v\xa0]+")
_BLANK_LINES_PATTERN = re.compile(r"\n{3,}")
# No character has a number of so many digits, and Python refuses to parse very long ones.
_INVALID_CHARREF_PATTERN = re.compile(r"&#[0-9]{9,};?")


def html_to_text(page: str) -> str:
    """Convert a page to text."""
    reader = _HtmlReader(page)
    reader.parse()
    return reader.finish()


def find_title(page: str) -> str | None:
    """Return the content of a page's `<title>` element as a single line, if there is one."""
    match = _TITLE_PATTERN.search(page, 0, _MAX_HEAD_CHARS)
    return (_WHITESPACE_PATTERN.sub(" ", _unescape(match[1])).strip() or None) if match else None


def _unescape(text: str) -> str:
    return html.unescape(_INVALID_CHARREF_PATTERN.sub("\ufffd", text)) if "&" in text else text


@dataclass(slots=True)
class _HtmlReader:
    """A single-pass parser that collects the text of a page."""

    page: str
    _position: int = 0
    _chunks: list[str] = field(default_factory=list)
    _blocks: list[str] = field(default_factory=list)
    _href: str | None = None
    _in_pre: bool = False

    def parse(self) -> None:
        while (tag := self.page.find("<", self._position)) >= 0:
            self._add_text(self.page[self._position : tag])
            end = self._find_tag_end(tag)
            if end < 0:  # never closed: tags and text can no longer be told apart
                return
            if not self.page.startswith(("<!", "<?"), tag):
                self._handle_tag(self.page[tag + 1 : end])
            self._position = max(end + 1, self._position)
        self._add_text(self.page[self._position :])

    def _find_tag_end(self, start: int) -> int:
        if self.page.startswith("<!--", start):
            end = self.page.find("-->", start + 4)
            return end + 2 if end >= 0 else -1
        return self.page.find(">", start)

    def _add_text(self, text: str) -> None:
        if text:
            text = _unescape(text)
            self._chunks.append(text if self._in_pre else _WHITESPACE_PATTERN.sub(" ", text))

    def _handle_tag(self, markup: str) -> None:
        match = _TAG_NAME_PATTERN.match(markup)
        if match is None:
            self._add_text(f"<{markup}>"[:200])
            return
        name, is_end_tag = match[1].lower(), markup.startswith("/")
        if name in _SKIPPED_TAGS and not is_end_tag and not markup.endswith("/"):
            self._skip_element(name)
        elif is_end_tag:
            self._close_tag(name)
        else:
            self._open_tag(name, markup)

    def _skip_element(self, name: str) -> None:
        """Skip an element that is not displayed, up to the end of the page if it is not closed."""
        # The end tag of a head is optional; the body ends it, too.
        end_pattern = "</head|<body" if name == "head" else f"</{name}"
        end = re.compile(end_pattern, re.IGNORECASE).search(self.page, self._position + 1)
        self._position = end.start() if end else len(self.page)

    def _open_tag(self, name: str, markup: str) -> None:
        if name == "br":
            self._chunks.append("\n")
        elif self._in_pre:
            self._start_line(name)
        elif name == "li":
            self._chunks.append("\n- ")
        elif name in ("td", "th"):
            self._chunks.append(" | ")
        elif name == "a":
            match = _HREF_PATTERN.search(markup[:5000])
            self._href = _unescape(match[1]) if match else None
        elif name == "pre":
            self._flush_block()
            self._in_pre = True
        elif name in _BLOCK_TAGS:
            self._chunks.append(_BLOCK_PREFIXES[name])

    def _start_line(self, name: str) -> None:
        """Start a new line for a block element in code: some pages use one for each line."""
        if name in _BLOCK_TAGS and self._chunks and not self._chunks[-1].endswith("\n"):
            self._chunks.append("\n")

    def _close_tag(self, name: str) -> None:
        if self._in_pre:
            if name == "pre":
                self._flush_block()
        elif name == "a" and self._href:
            self._chunks.append(f" ({self._href})")
            self._href = None
        elif name in _BLOCK_TAGS:
            self._chunks.append("\n\n")

    def _flush_block(self) -> None:
        """Finish the current block: fence code, strip extra whitespace from other text."""
        text = "".join(self._chunks)
        self._chunks.clear()
        if self._in_pre:
            self._in_pre = False
            text = _fence_code(text)
        else:
            lines = (line.strip() for line in text.splitlines())
            text = _BLANK_LINES_PATTERN.sub("\n\n", "\n".join(lines)).strip()
        if text:
            self._blocks.append(text)

    def finish(self) -> str:
        self._flush_block()
        return "\n\n".join(self._blocks)


def _fence_code(code: str) -> str:
    """Return code in a fence, so that no line of it is taken for a heading."""
    code = "\n".join(line.rstrip() for line in code.splitlines()).strip("\n")
    fence = "~~~" if "```" in code else "```"
    return f"{fence}\n{code}\n{fence}" if code else ""
