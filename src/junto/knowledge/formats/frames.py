"""The frames exchanged with the parser process.

A frame has a JSON header and a body of bytes, preceded by the lengths of both.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

_PREFIX = struct.Struct(">IQ")
PREFIX_BYTES = _PREFIX.size
# Enforced because a malicious file may have taken over the parser process.
_MAX_HEADER_BYTES, _MAX_BODY_BYTES = 64 * 1024, 128 * 1024 * 1024


def encode_header(header: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Return the lengths and the header that precede `body`."""
    encoded = json.dumps(header).encode()
    return _PREFIX.pack(len(encoded), len(body)) + encoded


def decode_prefix(prefix: bytes) -> tuple[int, int]:
    """Return the lengths of header and body.

    Raises:
        ValueError: one of them is over the limit.
    """
    header_length, body_length = _PREFIX.unpack(prefix)
    if header_length > _MAX_HEADER_BYTES or body_length > _MAX_BODY_BYTES:
        raise ValueError("a frame that is too long")
    return header_length, body_length


def decode_header(encoded: bytes) -> dict[str, Any]:
    """Return a header.

    Raises:
        ValueError: it is not a JSON object.
    """
    header = json.loads(encoded)
    if not isinstance(header, dict):
        raise ValueError("no header")  # noqa: TRY004 - invalid input, not a wrong argument type
    return header


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Return the next frame of a stream, or None at its end."""
    prefix = stream.read(PREFIX_BYTES)
    if len(prefix) < PREFIX_BYTES:
        return None
    header_length, body_length = _PREFIX.unpack(prefix)
    return decode_header(stream.read(header_length)), stream.read(body_length)
