"""Folders that are nobody else's to look into."""

import os
import stat
from pathlib import Path

from junto.domain.errors import InputOutputError, SecurityError


def made_privately(path: Path) -> None:
    """Make the folder at `path` and those around it that are missing, all for their owner alone.

    Raises:
        OSError: that cannot be.
    """
    for folder in (*reversed(path.parents), path):
        # Asking for all of them at once would leave the outer ones to the mask of the process.
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def private_folder(path: Path) -> Path:
    """Make the folder at `path`, if it is not there, and return it.

    Somebody else may have made it first, to read along or to plant something; then it is not used.

    Raises:
        SecurityError: the folder is somebody else's, or open to others.
        InputOutputError: it cannot be made.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise InputOutputError(f"{path} cannot be made: {error.strerror}.") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SecurityError(f"{path} is open to others, so it is not used. Remove it.")
    return path
