"""Keeping standard output for the protocol, whatever a library or a child process prints."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Yield private duplicates of standard input and output, and divert the public ones.

    Until the end of the block descriptor 0 reads nothing and descriptor 1 is standard error, in
    this process and in every child: a stray `print` cannot reach the client. Whoever takes the
    duplicates closes them.
    """
    sys.stdout.flush()
    wire_in, wire_out = _private(0), _private(1)
    keep_in, keep_out = _private(0), _private(1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a path is not needed for a device
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        yield wire_in, wire_out
    finally:
        sys.stdout.flush()
        os.dup2(keep_in, 0)
        os.dup2(keep_out, 1)
        os.close(keep_in)
        os.close(keep_out)


def _private(fd: int) -> int:
    """Duplicate `fd` out of the standard range; children do not inherit it."""
    duplicate = os.dup(fd)
    if duplicate > 2:  # noqa: PLR2004 - 0, 1 and 2 are the standard range
        return duplicate
    higher = _private(fd)
    os.close(duplicate)
    return higher
