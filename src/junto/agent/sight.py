"""What a run may look at: everything, but for other processes and what is somebody's secret."""

from collections.abc import Iterable, Iterator, Sequence
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


def visible(home: Path, hidden: Iterable[Path]) -> list[str]:
    """Return the files and folders that can be looked at, without those that are hidden."""
    away = [Path(name) for name in _HIDDEN]
    away += [path.resolve() for path in (*hidden, *(home / name for name in _KEYS.split()))]
    return [*_around(Path("/"), away), *_MACHINE]


def _around(folder: Path, away: Sequence[Path]) -> Iterator[str]:
    """Yield what lies in a folder; of what holds something hidden, only its other parts."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return  # what we cannot look into, it cannot either
    for entry in entries:
        real = entry.resolve() if entry.is_symlink() else entry
        if any(path == real or real.is_relative_to(path) for path in away):
            continue
        if not any(path.is_relative_to(real) for path in away):
            yield str(entry)
        elif real == entry:  # a link that leads there is not needed
            yield from _around(entry, away)
