"""Directories that only their owner can access."""

import contextlib
import os
import stat
from pathlib import Path

from junto.domain.errors import InputOutputError, SecurityError


def make_private_dirs(path: Path) -> None:
    """Create the directory at `path` and its missing parents, all with mode 0700.

    Raises:
        OSError: a directory cannot be created.
    """
    for directory in (*reversed(path.parents), path):
        # `mkdir(parents=True)` would create the parents with the default mode.
        if not directory.exists():
            try:
                directory.mkdir(mode=0o700)
                directory.chmod(0o700)  # whatever the umask
            except FileExistsError:  # another process was faster
                continue
    path.mkdir(mode=0o700, exist_ok=True)


def tighten_dir(path: Path) -> None:
    """Keep other users out of a directory of ours that an earlier version left open to them.

    Shared directories, such as /tmp, and home directories are left as they are.
    """
    with contextlib.suppress(OSError, RuntimeError):
        info = path.stat()
        is_ours = info.st_uid == os.getuid() and not info.st_mode & stat.S_ISVTX
        if is_ours and info.st_mode & 0o077 and path.resolve() not in (Path("/"), Path.home()):
            path.chmod(stat.S_IMODE(info.st_mode) & ~0o077)


def ensure_private_dir(path: Path) -> Path:
    """Create the directory at `path` if it does not exist, and return it.

    Another user may have created it first, to read or plant files; such a directory is not used.

    Raises:
        SecurityError: the directory belongs to another user, or others can access it.
        InputOutputError: the directory cannot be created.
    """
    try:
        make_private_dirs(path)
        info = path.lstat()
    except OSError as error:
        raise InputOutputError(f"{path} cannot be made: {error.strerror}.") from error
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise SecurityError(f"{path} is open to others, so it is not used. Remove it.")
    return path
