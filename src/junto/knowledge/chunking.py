"""Splitting of texts into chunks along their structure: headings, definitions, paragraphs."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

# Slightly less than an embedding model with a limit of 256 tokens can read.
_TARGET_CHARS, _MAX_BLOCK_CHARS = 900, 1050
# Characters at the end of a chunk that the next one repeats, if both have the same headings.
_OVERLAP_CHARS = 150

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.{0,200})")
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
# An unindented line that starts a named definition, in most programming languages.
_DEFINITION = re.compile(
    r"(?:@|(?:export|public|private|protected|static|abstract|async|default|pub)\s+){0,8}"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|module|type|const|CREATE)\b"
    r"[ \t]*((?:\w|::?(?=\w)|\.(?=\w)){0,80})"
)
# The lookbehind lets a match start only at the first of several end marks; without it, a long run
# of them takes quadratic time.
_SENTENCE_ENDS = r".!?\u3002\uff01\uff1f"
_SENTENCE = re.compile(rf"(?<![{_SENTENCE_ENDS}])[{_SENTENCE_ENDS}]++[\"')\]]*+\s+")
# A definition is recognised by the start of its line.
_DEFINITION_PREFIX_CHARS = 300


class TextStructure(StrEnum):
    """The structure of a text, which decides how it is split."""

    MARKDOWN = "markdown"
    CODE = "code"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Chunk:
    """The part `text[start:end]` of a text, and the headings above it."""

    start: int
    end: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _TextBlock:
    """Consecutive lines that belong together, and the headings above them."""

    start: int
    end: int
    headings: tuple[str, ...]


def iter_chunks(text: str, structure: TextStructure) -> Iterator[Chunk]:
    """Yield the chunks of a text in order; together they cover all text but whitespace."""
    current: _TextBlock | None = None
    for block in _BLOCK_ITERATORS[structure](text):
        for piece in _split_block(text, block):
            if current and (
                piece.headings != current.headings or piece.end - current.start > _TARGET_CHARS
            ):
                yield from _emit_chunk(text, current)
                previous = current if piece.headings == current.headings else None
                current = _TextBlock(
                    _find_chunk_start(text, previous, piece), piece.end, piece.headings
                )
            else:
                current = _TextBlock(
                    current.start if current else piece.start, piece.end, piece.headings
                )
    if current:
        yield from _emit_chunk(text, current)


def _emit_chunk(text: str, block: _TextBlock) -> Iterator[Chunk]:
    """Yield a block as a chunk, without surrounding whitespace, unless it is blank."""
    piece = text[block.start : block.end]
    start = block.start + len(piece) - len(piece.lstrip())
    end = block.end - (len(piece) - len(piece.rstrip()))
    if start < end:
        yield Chunk(start, end, block.headings)


def _find_chunk_start(text: str, previous: _TextBlock | None, block: _TextBlock) -> int:
    """Return the start of a chunk, which repeats the last sentences of the previous block."""
    if previous is None:
        return block.start
    earliest = max(previous.start + 1, previous.end - _OVERLAP_CHARS)
    tail = text[earliest : previous.end]
    cut = next((match.end() for match in re.finditer(r"\n|[.!?\u3002\uff01\uff1f]\s", tail)), None)
    return block.start if cut is None or cut >= len(tail.rstrip()) else earliest + cut


def _split_block(text: str, block: _TextBlock) -> Iterator[_TextBlock]:
    """Yield a block; split one that is too long at lines, sentences, words, or anywhere."""
    start = block.start
    while block.end - start > _MAX_BLOCK_CHARS:
        window = text[start : start + _MAX_BLOCK_CHARS]
        patterns = (r"\n", _SENTENCE, r"\s")
        cut = next(
            filter(None, (_find_last_cut(pattern, window) for pattern in patterns)),
            _MAX_BLOCK_CHARS,
        )
        yield _TextBlock(start, start + cut, block.headings)
        start += cut
    yield _TextBlock(start, block.end, block.headings)


def _find_last_cut(pattern: str | re.Pattern[str], window: str) -> int | None:
    """Return the end of the last match, if it is in the second half of the window."""
    ends = [match.end() for match in re.finditer(pattern, window)]
    return ends[-1] if ends and ends[-1] > len(window) // 2 else None


def _iter_lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, text[start:end]
        start = end


def _iter_paragraphs(text: str) -> Iterator[_TextBlock]:
    return _iter_blocks(text, lambda line: not line.strip(), lambda _line: None)


def _iter_definitions(text: str) -> Iterator[_TextBlock]:
    """Yield unindented definitions, each with the lines up to the next one."""

    def parse_definition(line: str) -> tuple[int, str] | None:
        match = _DEFINITION.match(line[:_DEFINITION_PREFIX_CHARS])
        return (1, match[1]) if match and match[1] else None

    return _iter_blocks(
        text,
        lambda line: bool(_DEFINITION.match(line[:_DEFINITION_PREFIX_CHARS])),
        parse_definition,
    )


def _iter_sections(text: str) -> Iterator[_TextBlock]:
    """Yield the paragraphs of Markdown, each with the headings above it."""
    open_fence = ""

    def is_boundary(line: str) -> bool:
        nonlocal open_fence
        if fence := _FENCE.match(line):
            open_fence = "" if open_fence == fence[1] else open_fence or fence[1]
            return False
        return not open_fence and (not line.strip() or bool(_HEADING.match(line)))

    def parse_heading(line: str) -> tuple[int, str] | None:
        match = None if open_fence else _HEADING.match(line)
        return (len(match[1]), match[2].strip(" #\t\n")) if match else None

    return _iter_blocks(text, is_boundary, parse_heading)


def _iter_blocks(
    text: str,
    is_boundary: Callable[[str], bool],
    parse_heading: Callable[[str], tuple[int, str] | None],
) -> Iterator[_TextBlock]:
    """Yield the blocks of a text; a line for which `is_boundary` is true starts a new one."""
    heading_path: list[tuple[int, str]] = []
    start, headings = 0, tuple[str, ...]()
    for line_start, line in _iter_lines(text):
        if not is_boundary(line):
            continue
        if line_start > start:
            yield _TextBlock(start, line_start, headings)
        start = line_start
        if heading := parse_heading(line):
            heading_path = [each for each in heading_path if each[0] < heading[0]] + [heading]
            headings = tuple(title for _, title in heading_path)
    if start < len(text):
        yield _TextBlock(start, len(text), headings)


_BLOCK_ITERATORS: dict[TextStructure, Callable[[str], Iterator[_TextBlock]]] = {
    TextStructure.MARKDOWN: _iter_sections,
    TextStructure.CODE: _iter_definitions,
    TextStructure.PLAIN: _iter_paragraphs,
}
