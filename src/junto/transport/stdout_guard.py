"""Keeping standard output for the protocol, whatever a library or a child process prints."""

import os
import sys


def claim() -> tuple[int, int]:
    """Return private duplicates of standard input and output, and divert the public ones for good.

    From here on descriptor 0 reads nothing and descriptor 1 is standard error, in this process and
    in every child: a stray `print` cannot reach the client, not even at exit. Children do not
    inherit the duplicates, and whoever takes them closes them.
    """
    if sys.stdout:
        sys.stdout.flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire_in, wire_out
