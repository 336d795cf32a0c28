"""The allowed directories: the configured ones, or the working directory."""

import os
from pathlib import Path

from junto.security.paths import Roots
from junto.settings.paths import find_home_dir
from junto.settings.schema import Settings

_ROOTS_HINT = "Set tools.roots (JUNTO_TOOLS_ROOTS) to those that tools may use."
_NO_CWD_MESSAGE = f"No folder is allowed, since the working directory is gone. {_ROOTS_HINT}"
_CWD_TOO_WIDE_MESSAGE = (
    "No folder is allowed, since the working directory is the whole disk or holds the home "
    f"directory. {_ROOTS_HINT}"
)


def build_roots(settings: Settings) -> Roots:
    """Return the allowed directories: the configured ones, or the working directory."""
    if settings.tools.roots:
        return Roots.from_paths(settings.tools.roots)
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it was removed while we ran
        return Roots((), _NO_CWD_MESSAGE)
    return Roots((), _CWD_TOO_WIDE_MESSAGE) if _is_too_wide(here) else Roots.from_paths((here,))


def _is_too_wide(directory: Path) -> bool:
    """Tell whether a folder is the whole disk, or holds all that its user has.

    Desktop programs start servers in such places, and nobody has chosen them.
    """
    if directory == Path(directory.anchor):
        return True
    home = Path(os.path.realpath(find_home_dir()))
    # Compared by device and inode, because it may be mounted in a second place.
    return any(_is_same_path(directory, above) for above in (home, *home.parents))


def _is_same_path(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
