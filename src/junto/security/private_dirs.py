"""Directories that only their owner can access."""

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
            directory.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def ensure_private_dir(path: Path) -> Path:
    """Create the directory at `path` if it does not exist, and return it.

    Another user may have created it first, to read or plant files; such a directory is not used.

    Raises:
        SecurityError: the directory belongs to another user, or others can access it.
        InputOutputError: the directory cannot be created.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.lstat()
    except OSError as error:
        raise InputOutputError(f"{path} cannot be made: {error.strerror}.") from error
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise SecurityError(f"{path} is open to others, so it is not used. Remove it.")
    return path
