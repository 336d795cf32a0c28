"""Folders for runs: each is somebody's while they live, and removed by the next one if they die."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "junto-agent-"
_LOCK = "lock"
# A folder without a lock is just being made, or was left at that moment.
_FRESH = 3600.0


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a run, and the lock that says that the run lives."""

    path: Path
    lock: int

    @classmethod
    def made(cls, parent: Path | None) -> "Folder":
        """Return a new folder, and remove those that were left."""
        if parent:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        folder = cls(path, _opened(path / _LOCK))
        fcntl.flock(folder.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _sweep(path.parent)
        for name in ("config", "home", "tmp"):
            (path / name).mkdir()
        return folder

    def remove(self) -> None:
        """Remove it with all that was made in it."""
        _removed(self.path)
        os.close(self.lock)


def _opened(path: Path, flags: int = os.O_CREAT) -> int:
    return os.open(path, flags | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _sweep(parent: Path) -> None:
    """Remove the folders of runs whose server has died."""
    for path in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody lives there, or it is not ours
            try:
                lock = _opened(path / _LOCK, 0)
            except FileNotFoundError:
                if time.time() - path.stat().st_mtime > _FRESH:
                    _removed(path)
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _removed(path)
            finally:
                os.close(lock)


def _removed(folder: Path) -> None:
    """Remove a folder, also what was made read-only in it."""

    def again(function: Callable[[str], object], path: str, _why: object) -> None:
        with contextlib.suppress(OSError):
            Path(path).parent.chmod(0o700)
            if not Path(path).is_symlink():
                Path(path).chmod(0o700)
            function(path)

    shutil.rmtree(folder, onerror=again)
