"""Terminal text: sanitizing, display width, truncating, wrapping and printing."""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator

import click

# Untrusted text, such as a model's answer, must not move the cursor, set the title, write to the
# clipboard or change the text direction.
_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PRINTABLE_ASCII = re.compile(r"[\x20-\x7e]*")
# Combining marks, joiners and variation selectors.
_ZERO_WIDTH_CATEGORIES = ("Mn", "Me", "Cf")


def is_terminal(stream: object) -> bool:
    """Return whether a stream is a terminal."""
    return bool(stream and getattr(stream, "isatty", lambda: False)())


def can_rewrite_line(stream: object) -> bool:
    """Return whether a stream is a terminal that can overwrite the current line."""
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def rewrite_line(text: str) -> None:
    """Replace the current line on standard error."""
    # color=True: click would strip the escape sequence when NO_COLOR is set.
    click.echo(f"\r\x1b[K{text}", nl=False, err=True, color=True)


def sanitize_for_stdout(text: str) -> str:
    """Sanitize text if standard output is a terminal; return it unchanged for a pipe."""
    return sanitize(text) if is_terminal(sys.stdout) else text


def sanitize(text: str) -> str:
    """Replace control characters and bidirectional overrides."""
    return _CONTROL_CHARS.sub("\N{REPLACEMENT CHARACTER}", text)


def display_width(text: str) -> int:
    """Return the number of terminal columns a text takes."""
    if _PRINTABLE_ASCII.fullmatch(text):
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in _ZERO_WIDTH_CATEGORIES:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def truncate(text: str, max_columns: int) -> str:
    """Truncate a text to at most `max_columns`, ending in … if it was cut."""
    if display_width(text) <= max_columns:
        return text
    chars, columns_left = [], max_columns - 1
    for char in text:
        columns_left -= _char_width(char)
        if columns_left < 0:
            break
        chars.append(char)
    return "".join(chars).rstrip() + "…"


def print_stderr(text: str) -> None:
    """Print text to standard error, wrapped to the width of a terminal."""
    click.echo(wrap_text(text, get_max_columns(sys.stderr)), err=True)


def get_max_columns(stream: object) -> int | None:
    """Return the width of a terminal, or None if the stream is not one."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else None


def wrap_text(text: str, max_columns: int | None) -> str:
    """Wrap lines at word boundaries to `max_columns`; None does not wrap."""
    if max_columns is None:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _wrap_line(line, max_columns))


def _wrap_line(line: str, max_columns: int) -> Iterator[str]:
    """Yield the pieces of a wrapped line, each with the indentation of the line."""
    if display_width(line) <= max_columns:
        yield line
        return
    indent = line[: len(line) - len(line.lstrip())]
    piece, used = indent, len(indent)
    for word in line.split():
        columns = display_width(word)
        if piece != indent and used + 1 + columns > max_columns:
            yield piece
            piece, used = indent, len(indent)
        space = "" if piece == indent else " "
        piece, used = f"{piece}{space}{word}", used + len(space) + columns
    yield piece
