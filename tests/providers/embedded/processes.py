"""Looking at processes from outside, as an operator would."""

import time
from collections.abc import Callable
from pathlib import Path

_SECONDS = 20.0


def engines(folder: Path) -> list[int]:
    """Return the pids of the engines that work in `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(folder).encode() in words and state != "Z":
                found.append(int(entry.name))
    return found


def until(condition: Callable[[], bool]) -> bool:
    """Return whether `condition` comes true before long."""
    end = time.monotonic() + _SECONDS
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.01)  # another process is waited for, and nothing tells us
    return met
