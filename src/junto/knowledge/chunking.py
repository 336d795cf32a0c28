"""Texts cut into chunks by their structure: headings, definitions, paragraphs."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

# A little less than an embedding model of 256 tokens can read.
_TARGET, _LONGEST_PIECE = 900, 1050
# How much of the end of a chunk the next one begins with, if they belong together.
_OVERLAP = 150

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.{0,200})")
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
# A line at the margin that begins something with a name, in most languages.
_DEFINITION = re.compile(
    r"(?:@|(?:export|public|private|protected|static|abstract|async|default|pub)\s+){0,8}"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|module|type|const|CREATE)\b"
    r"[ \t]*((?:\w|::?(?=\w)|\.(?=\w)){0,80})"
)
# From the first of several signs on, or a row of them would be looked at from each.
_ENDS = r".!?\u3002\uff01\uff1f"
_SENTENCE = re.compile(rf"(?<![{_ENDS}])[{_ENDS}]++[\"')\]]*+\s+")
# A definition is told by the beginning of its line.
_TOLD = 300


class Shape(StrEnum):
    """How a text is built."""

    MARKDOWN = "markdown"
    CODE = "code"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text, and the headings above it; `text[start:end]` is what it holds."""

    start: int
    end: int
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together."""

    start: int
    end: int
    path: tuple[str, ...]


def chunks(text: str, shape: Shape) -> Iterator[Chunk]:
    """Yield the chunks of a text in their order; all that is not blank is in one of them."""
    begun: _Block | None = None
    for block in _BLOCKS[shape](text):
        for piece in _split(text, block):
            if begun and (piece.path != begun.path or piece.end - begun.start > _TARGET):
                yield from _made(text, begun)
                overlap = begun if piece.path == begun.path else None
                begun = _Block(_lead(text, overlap, piece), piece.end, piece.path)
            else:
                begun = _Block(begun.start if begun else piece.start, piece.end, piece.path)
    if begun:
        yield from _made(text, begun)


def _made(text: str, block: _Block) -> Iterator[Chunk]:
    """Yield a block as a chunk, without blanks around it."""
    piece = text[block.start : block.end]
    start = block.start + len(piece) - len(piece.lstrip())
    end = block.end - (len(piece) - len(piece.rstrip()))
    if start < end:
        yield Chunk(start, end, block.path)


def _lead(text: str, before: _Block | None, piece: _Block) -> int:
    """Return where a chunk begins: with the last sentences of the one before it."""
    if before is None:
        return piece.start
    earliest = max(before.start + 1, before.end - _OVERLAP)
    tail = text[earliest : before.end]
    cut = next((match.end() for match in re.finditer(r"\n|[.!?\u3002\uff01\uff1f]\s", tail)), None)
    return piece.start if cut is None or cut >= len(tail.rstrip()) else earliest + cut


def _split(text: str, block: _Block) -> Iterator[_Block]:
    """Yield a block, or pieces of it that are not too long: lines, sentences, or just so many."""
    start = block.start
    while block.end - start > _LONGEST_PIECE:
        window = text[start : start + _LONGEST_PIECE]
        ways = (r"\n", _SENTENCE, r"\s")
        cut = next(filter(None, (_last(way, window) for way in ways)), _LONGEST_PIECE)
        yield _Block(start, start + cut, block.path)
        start += cut
    yield _Block(start, block.end, block.path)


def _last(pattern: str | re.Pattern[str], window: str) -> int | None:
    """Return where the last match in the second half of a text ends, if there is one."""
    ends = [match.end() for match in re.finditer(pattern, window)]
    return ends[-1] if ends and ends[-1] > len(window) // 2 else None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, text[start:end]
        start = end


def _paragraphs(text: str) -> Iterator[_Block]:
    return _cut(text, lambda line: not line.strip(), lambda _line: None)


def _definitions(text: str) -> Iterator[_Block]:
    """Yield what is defined at the margin, each with what follows it and is further in."""

    def named(line: str) -> tuple[int, str] | None:
        match = _DEFINITION.match(line[:_TOLD])
        return (1, match[1]) if match and match[1] else None

    return _cut(text, lambda line: bool(_DEFINITION.match(line[:_TOLD])), named)


def _sections(text: str) -> Iterator[_Block]:
    """Yield the paragraphs of Markdown, each with the headings above it."""
    fenced = ""

    def parts(line: str) -> bool:
        nonlocal fenced
        if fence := _FENCE.match(line):
            fenced = "" if fenced == fence[1] else fenced or fence[1]
            return False
        return not fenced and (not line.strip() or bool(_HEADING.match(line)))

    def heads(line: str) -> tuple[int, str] | None:
        match = None if fenced else _HEADING.match(line)
        return (len(match[1]), match[2].strip(" #\t\n")) if match else None

    return _cut(text, parts, heads)


def _cut(
    text: str, parts: Callable[[str], bool], heads: Callable[[str], tuple[int, str] | None]
) -> Iterator[_Block]:
    """Yield a text in blocks: one begins where a line parts it from what is before."""
    path: list[tuple[int, str]] = []
    start, titles = 0, tuple[str, ...]()
    for at, line in _lines(text):
        if not parts(line):
            continue
        if at > start:
            yield _Block(start, at, titles)
        start = at
        if head := heads(line):
            path = [each for each in path if each[0] < head[0]] + [head]
            titles = tuple(title for _, title in path)
    if start < len(text):
        yield _Block(start, len(text), titles)


_BLOCKS: dict[Shape, Callable[[str], Iterator[_Block]]] = {
    Shape.MARKDOWN: _sections,
    Shape.CODE: _definitions,
    Shape.PLAIN: _paragraphs,
}
