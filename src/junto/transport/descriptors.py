"""Keeping standard output for the protocol, whatever a library or a child process prints."""

import os
import sys


def claim() -> tuple[int, int]:
    """Return private duplicates of standard input and output, and divert the public ones for good.

    From here on descriptor 0 reads nothing and descriptor 1 is standard error, in this process and
    in every child: a stray `print` cannot reach the client, not even at exit. Whoever takes the
    duplicates closes them. What was closed when the process started reads and writes nothing.
    """
    wire_in = _private(0) if sys.stdin else os.open(os.devnull, os.O_RDONLY)
    wire_out = _private(1) if sys.stdout else os.open(os.devnull, os.O_WRONLY)
    nothing = os.open(os.devnull, os.O_RDWR)
    if sys.stdin:
        os.dup2(nothing, 0)
    if sys.stdout:
        sys.stdout.flush()
        os.dup2(2 if sys.stderr else nothing, 1)
    os.close(nothing)
    return wire_in, wire_out


def _private(fd: int) -> int:
    """Duplicate `fd` out of the standard range; children do not inherit it."""
    duplicate = os.dup(fd)
    if duplicate > 2:  # noqa: PLR2004 - 0, 1 and 2 are the standard range
        return duplicate
    higher = _private(fd)
    os.close(duplicate)
    return higher
