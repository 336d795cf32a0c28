"""A real terminal, and what a command shows in it."""

import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping
from fcntl import ioctl
from pathlib import Path

from tests.clients import TIMEOUT_SECONDS, junto_command


def run_in_terminal(
    words: tuple[str, ...],
    environment: Mapping[str, str],
    folder: Path,
    columns: int,
    *,
    talk: bool = True,
) -> str:
    """Return what a command shows where so many columns are; without talk, its data alone."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(
        junto_command(*words),
        stdin=theirs if talk else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if talk else subprocess.DEVNULL,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        process.wait(TIMEOUT_SECONDS)
    os.close(ours)
    assert process.returncode in (0, 1)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how a terminal says that nobody is there any more
        return b""
