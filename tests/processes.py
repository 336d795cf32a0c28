"""Looking at processes from outside, as an operator would."""

import contextlib
import os
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


def find_engine_pids(folder: Path) -> list[int]:
    """Return the pids of the engines that work in `folder`."""
    return [pid for pid, words in command_lines().items() if str(folder) in words]


def read_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used in user mode, or 0 if it is gone."""
    with contextlib.suppress(OSError):
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
        return int(ticks) / os.sysconf("SC_CLK_TCK")
    return 0.0


def wait_until(condition: Callable[[], object], timeout: float = _SECONDS) -> bool:
    """Return whether `condition` comes true within `timeout` seconds."""
    end = time.monotonic() + timeout
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.01)  # another process is waited for, and nothing tells us
    return bool(met)
