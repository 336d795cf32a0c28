"""Text for a terminal: what cannot harm it, how wide it is there, and where its lines end."""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator

import click

# What a model says must not move the cursor, change the title, or write to the clipboard.
# Nor may it turn the direction of what is written.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PLAIN = re.compile(r"[\x20-\x7e]*")
# Marks that are written over the character before, and what joins or chooses its form.
_NO_WIDTH = ("Mn", "Me", "Cf")


def sits(stream: object) -> bool:
    """Tell whether somebody sits at a stream."""
    return bool(stream and getattr(stream, "isatty", lambda: False)())


def rewrites(stream: object) -> bool:
    """Tell whether a line at a stream can be written over."""
    return sits(stream) and os.environ.get("TERM") != "dumb"


def rewrite(text: str) -> None:
    """Write over the line that standard error is at."""
    # It is no colour, so it is kept where colours are not wanted.
    click.echo(f"\r\x1b[K{text}", nl=False, err=True, color=True)


def shown(text: str) -> str:
    """Return text for standard output: as it is for a program, harmless for a terminal."""
    return harmless(text) if sits(sys.stdout) else text


def harmless(text: str) -> str:
    """Return text that moves no cursor and rings no bell."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def width(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    if _PLAIN.fullmatch(text):
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, columns: int) -> str:
    """Return a text that takes at most so many columns; if something is missing, … says so."""
    if width(text) <= columns:
        return text
    kept, left = [], columns - 1
    for character in text:
        left -= _columns(character)
        if left < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def say(text: str) -> None:
    """Say something on standard error; in a terminal no word is cut by its edge."""
    click.echo(wrapped(text, room_of(sys.stderr)), err=True)


def room_of(stream: object) -> int | None:
    """Return how many columns a line may take at a stream, if that matters."""
    return shutil.get_terminal_size().columns if sits(stream) else None


def wrapped(text: str, room: int | None) -> str:
    """Return a text whose lines end between words before they are too long for `room`."""
    if room is None:
        return text
    return "\n".join(line for long in text.split("\n") for line in _broken(long, room))


def _broken(line: str, room: int) -> Iterator[str]:
    """Yield the pieces of a line, each of which begins as far to the right as the line does."""
    if width(line) <= room:
        yield line
        return
    before = line[: len(line) - len(line.lstrip())]
    piece, taken = before, len(before)
    for word in line.split():
        columns = width(word)
        if piece != before and taken + 1 + columns > room:
            yield piece
            piece, taken = before, len(before)
        blank = "" if piece == before else " "
        piece, taken = f"{piece}{blank}{word}", taken + len(blank) + columns
    yield piece
