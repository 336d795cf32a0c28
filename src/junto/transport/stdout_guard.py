"""Protects standard output from anything but protocol messages."""

import os
import sys


def claim_stdio() -> tuple[int, int]:
    """Return private duplicates of standard input and output, and redirect the originals for good.

    From then on descriptor 0 is the null device and descriptor 1 is standard error, in this process
    and in its children: a stray `print` cannot reach the client, not even at exit. Children do not
    inherit the duplicates. The caller closes them.
    """
    if sys.stdout:
        sys.stdout.flush()
    stdin_fd, stdout_fd = os.dup(0), os.dup(1)
    null_fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_fd, 0)
    os.close(null_fd)
    os.dup2(2, 1)
    return stdin_fd, stdout_fd
