"""The file system of runs: their scratch directories, and the paths that they may see.

Each scratch directory is locked by its server. If that server dies, the next run of any server
removes the directory.

    base/               hidden from runs
      one-x7k2/         one per run
        lock            locked while the run's server is alive
        run/            the run's own directory
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from junto.domain.errors import SecurityError

_DIR_PREFIX = "one-"
# /proc shows the environment of every process of the same user, including ours.
_HIDDEN_SYSTEM_DIRS = ("/proc", "/dev")
# Exceptions that programs need.
_SYSTEM_INFO_PATHS = (
    "/dev/random", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime",
    "/proc/loadavg", "/proc/version", "/proc/filesystems", "/proc/sys",
)  # fmt: skip
# Credentials in home directories.
_CREDENTIAL_PATHS = """
.aws .azure .claude .config/gcloud .config/gh .config/op .docker .git-credentials .gnupg .kube
.netrc .npmrc .pgpass .pypirc .ssh .vault-token
"""


@dataclass(frozen=True, slots=True)
class ScratchDir:
    """The scratch directory of a run, and the lock that marks its server as alive."""

    container: Path
    lock_fd: int

    @property
    def path(self) -> Path:
        """The directory that the run may use."""
        return self.container / "run"

    @classmethod
    def create(cls, base_dir: Path, *, traversable: bool = False) -> "ScratchDir":
        """Create a scratch directory, and remove those of dead servers.

        Raises:
            SecurityError: `base_dir` is a symlink, or another user owns or can change it.
        """
        mode = 0o711 if traversable else 0o700  # another user must be able to enter
        _ensure_owned_dir(base_dir, mode)
        with _lock_dir(base_dir):
            _remove_orphans(base_dir)
            container = Path(tempfile.mkdtemp(prefix=_DIR_PREFIX, dir=base_dir))
            container.chmod(mode)
            scratch = cls(container, _acquire_lock(container / "lock"))
        for directory in (
            scratch.path,
            *(scratch.path / name for name in ("config", "home", "tmp")),
        ):
            directory.mkdir(mode=0o700)
        return scratch

    def remove(self) -> None:
        """Remove the directory with all its content."""
        _remove_tree(self.container)
        os.close(self.lock_fd)


def _ensure_owned_dir(base_dir: Path, mode: int) -> None:
    base_dir.mkdir(mode=mode, parents=True, exist_ok=True)
    status = base_dir.lstat()
    if base_dir.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise SecurityError(f"{base_dir.name} is not a folder of ours alone; remove it.")


@contextlib.contextmanager
def _lock_dir(base_dir: Path) -> Iterator[None]:
    """Keep other servers from creating or cleaning up scratch directories during the block."""
    fd = os.open(base_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _acquire_lock(path: Path) -> int:
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _remove_orphans(base_dir: Path) -> None:
    """Remove the directories of dead servers.

    One without a lock file is removed too: its server died while creating it.
    """
    for container in base_dir.glob(f"{_DIR_PREFIX}*"):
        with contextlib.suppress(OSError):  # its server is alive
            lock_fd = _acquire_lock(container / "lock")
            _remove_tree(container)
            os.close(lock_fd)


def _remove_tree(path: Path) -> None:
    """Remove a directory, including read-only content, without following symlinks."""
    if os.geteuid() != 0:
        _make_writable(path)
    shutil.rmtree(path, ignore_errors=True)


def _make_writable(path: Path) -> None:
    """Make all subdirectories writable, so that they can be removed."""
    for _, names, _, fd in os.fwalk(path, follow_symlinks=False):
        for name in names:
            with contextlib.suppress(OSError):
                flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_DIRECTORY
                child_fd = os.open(name, flags, dir_fd=fd)
                try:
                    child = Path(f"/proc/self/fd/{child_fd}")
                    child.chmod(0o700) if child.exists() else os.fchmod(child_fd, 0o700)
                finally:
                    os.close(child_fd)


def list_visible_paths(home_dirs: Iterable[Path], hidden_paths: Iterable[Path]) -> list[str]:
    """Return the files and directories that a run may read, without credentials."""
    credentials = (home / name for home in home_dirs for name in _CREDENTIAL_PATHS.split())
    hidden = {
        *_HIDDEN_SYSTEM_DIRS,
        *(os.path.realpath(path) for path in (*hidden_paths, *credentials)),
    }
    ancestors = {str(parent) for path in hidden for parent in Path(path).parents}
    return [*_iter_visible("/", hidden, ancestors), *_SYSTEM_INFO_PATHS]


def _iter_visible(directory: str, hidden: set[str], ancestors: set[str]) -> Iterator[str]:
    """Yield the entries of a directory, descending only where something hidden is inside."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return  # not readable for us, so not for the run either
    for entry in entries:
        if entry.is_symlink():
            real = os.path.realpath(entry.path)
            # Skip symlinks to something hidden or to a directory that contains it.
            if real not in ancestors and not _is_within(real, hidden):
                yield entry.path
        elif entry.path in ancestors and entry.path not in hidden:
            yield from _iter_visible(entry.path, hidden, ancestors)
        elif entry.path not in hidden:
            yield entry.path


def _is_within(path: str, hidden: set[str]) -> bool:
    return path in hidden or any(str(parent) in hidden for parent in Path(path).parents)
