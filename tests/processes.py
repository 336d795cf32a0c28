"""Looking at processes from outside, as an operator would."""

import time
from collections.abc import Callable
from pathlib import Path

_SECONDS = 45.0


def command_lines() -> dict[int, list[str]]:
    """Return the words of every process that lives, by its pid."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found[int(entry.name)] = words
    return found


def engines(folder: Path) -> list[int]:
    """Return the pids of the engines that work in `folder`."""
    return [pid for pid, words in command_lines().items() if str(folder) in words]


def until(condition: Callable[[], bool]) -> bool:
    """Return whether `condition` comes true before long."""
    end = time.monotonic() + _SECONDS
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.01)  # another process is waited for, and nothing tells us
    return met
