"""Folders for runs: each is somebody's while they live, and removed by the next one if they die.

base/                 ours; no run sees it
one-x7k2/           ours: the lock, which says that its server lives
lock
run/              the run's own
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from junto.domain.errors import SecurityError

_PREFIX = "one-"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a run, and the lock that says that its server lives."""

    outer: Path
    lock: int

    @property
    def path(self) -> Path:
        """Return what the run may use."""
        return self.outer / "run"

    @classmethod
    def made(cls, base: Path, *, passable: bool = False) -> "Folder":
        """Return a new folder, and remove those that were left.

        Raises:
            SecurityError: somebody else has put something else there.
        """
        mode = 0o711 if passable else 0o700  # another user must get through
        _ours(base, mode)
        with _alone(base):
            _sweep(base)
            outer = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
            outer.chmod(mode)
            folder = cls(outer, _locked(outer / "lock"))
        for inner in (folder.path, *(folder.path / name for name in ("config", "home", "tmp"))):
            inner.mkdir(mode=0o700)
        return folder

    def remove(self) -> None:
        """Remove it with all that was made in it."""
        _removed(self.outer)
        os.close(self.lock)


def _ours(base: Path, mode: int) -> None:
    base.mkdir(mode=mode, parents=True, exist_ok=True)
    found = base.lstat()
    if base.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SecurityError(f"{base.name} is not a folder of ours alone; remove it.")


@contextlib.contextmanager
def _alone(base: Path) -> Iterator[None]:
    """Let nobody else make or remove folders for the moment."""
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _locked(path: Path) -> int:
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _sweep(base: Path) -> None:
    """Remove the folders whose server has died; without a lock they are no more than begun."""
    for outer in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # its server lives
            lock = _locked(outer / "lock")
            _removed(outer)
            os.close(lock)


def _removed(folder: Path) -> None:
    """Remove a folder, also what was made read-only in it; no link leads anywhere else."""
    if os.geteuid() != 0:
        _opened(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _opened(folder: Path) -> None:
    """Make every folder in a folder one that we can empty."""
    for _, names, _, fd in os.fwalk(folder, follow_symlinks=False):
        for name in names:
            with contextlib.suppress(OSError):
                flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_DIRECTORY
                inner = os.open(name, flags, dir_fd=fd)
                try:
                    here = Path(f"/proc/self/fd/{inner}")
                    here.chmod(0o700) if here.exists() else os.fchmod(inner, 0o700)
                finally:
                    os.close(inner)
