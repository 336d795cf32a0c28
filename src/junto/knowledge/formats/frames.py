"""What goes between us and the child: a header in JSON and bytes, their lengths before them."""

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

_LENGTHS = struct.Struct(">IQ")
LENGTHS = _LENGTHS.size
# A child may have been taken over by what it read.
_LONGEST_HEADER, _LONGEST_BODY = 64 * 1024, 128 * 1024 * 1024


def packed(header: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Return what goes before `body`."""
    words = json.dumps(header).encode()
    return _LENGTHS.pack(len(words), len(body)) + words


def lengths(start: bytes) -> tuple[int, int]:
    """Return how long header and body are.

    Raises:
        ValueError: they are longer than any that is sent.
    """
    header, body = _LENGTHS.unpack(start)
    if header > _LONGEST_HEADER or body > _LONGEST_BODY:
        raise ValueError("a frame that is too long")
    return header, body


def header_of(words: bytes) -> dict[str, Any]:
    """Return a header.

    Raises:
        ValueError: it is none.
    """
    header = json.loads(words)
    if not isinstance(header, dict):
        raise ValueError("no header")  # noqa: TRY004 - of what came, not of who called
    return header


def received(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Return the next frame of a stream, or nothing at its end."""
    start = stream.read(LENGTHS)
    if len(start) < LENGTHS:
        return None
    header, body = _LENGTHS.unpack(start)
    return header_of(stream.read(header)), stream.read(body)
