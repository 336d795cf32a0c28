"""What a run may look at: everything, but for other processes and what is somebody's secret."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

# Other processes show the variables of every program that this user runs, ours included.
_HIDDEN = ("/proc", "/dev")
# What programs need to know of the machine all the same.
_MACHINE = (
    "/dev/random", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime",
    "/proc/loadavg", "/proc/version", "/proc/filesystems", "/proc/sys",
)  # fmt: skip
# Where people keep their keys.
_KEYS = """
.aws .azure .claude .config/gcloud .config/gh .config/op .docker .git-credentials .gnupg .kube
.netrc .npmrc .pgpass .pypirc .ssh .vault-token
"""


def visible(homes: Iterable[Path], hidden: Iterable[Path]) -> list[str]:
    """Return the files and folders that can be looked at, without those that are hidden."""
    keys = (home / name for home in homes for name in _KEYS.split())
    away = {*_HIDDEN, *(os.path.realpath(path) for path in (*hidden, *keys))}
    above = {str(parent) for path in away for parent in Path(path).parents}
    return [*_around("/", away, above), *_MACHINE]


def _around(folder: str, away: set[str], above: set[str]) -> Iterator[str]:
    """Yield what lies in a folder; of what holds something hidden, only its other parts."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # what we cannot look into, it cannot either
    for entry in entries:
        if entry.is_symlink():
            real = os.path.realpath(entry.path)
            # A link that leads to or past something hidden is not needed.
            if real not in above and not _within(real, away):
                yield entry.path
        elif entry.path in above and entry.path not in away:
            yield from _around(entry.path, away, above)
        elif entry.path not in away:
            yield entry.path


def _within(path: str, away: set[str]) -> bool:
    return path in away or any(str(parent) in away for parent in Path(path).parents)
