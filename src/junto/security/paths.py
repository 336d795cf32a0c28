"""Files beneath allowed folders, opened so that nothing leads out: no link, no race, no spelling.

Each root is opened once, and every path is walked from there by the kernel, which refuses to leave
it (`openat2`), or step by step without following any link where the kernel cannot.
"""

import errno
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from junto.domain.errors import InputOutputError, NotFoundError, SecurityError

_LINUX = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders in which files may be read."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "Roots":
        """Return roots that stay where they are, wherever links may lead later."""
        return cls(tuple(Path(os.path.realpath(folder)) for folder in folders))

    def read(self, path: str, most_bytes: int) -> bytes:
        """Return what is in the file at `path`.

        Raises:
            SecurityError: it lies outside, or is no ordinary file.
            NotFoundError: there is no such file.
            InputOutputError: it cannot be read, or is too large.
        """
        fd = self._opened(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise SecurityError(f"{path} is no ordinary file.")
            if found.st_size > most_bytes:
                raise InputOutputError(f"{path} is larger than {most_bytes:,} bytes.")
            with os.fdopen(os.dup(fd), "rb") as file:
                return file.read(most_bytes + 1)[:most_bytes]
        finally:
            os.close(fd)

    def _opened(self, path: str, flags: int) -> int:
        root, relative = self._located(path)
        try:
            directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise NotFoundError(f"The folder around {path} is gone.") from None
        try:
            return _beneath(directory, relative, flags | os.O_CLOEXEC)
        except FileNotFoundError:
            raise NotFoundError(f"There is no file {path}.") from None
        except OSError as error:
            if error.errno in (errno.EXDEV, errno.ELOOP, errno.ENOTDIR):
                raise SecurityError(f"{path} leads out of the allowed folders.") from None
            raise InputOutputError(f"{path} cannot be read: {error.strerror}.") from None
        finally:
            os.close(directory)

    def _located(self, path: str) -> tuple[Path, str]:
        """Return the root that a path is beneath, and the rest of it, by its spelling alone."""
        if "\0" in path or not path:
            raise SecurityError("A path has no NUL in it, and is not empty.")
        for folder in self.folders:
            plain = os.path.normpath(folder / path)
            relative = os.path.relpath(plain, folder)
            if relative != os.pardir and not relative.startswith(os.pardir + os.sep):
                return folder, relative
        raise SecurityError(f"{path} lies outside the allowed folders.")


def _beneath(directory: int, relative: str, flags: int) -> int:
    if _LINUX:
        from junto.security import openat2  # for those who open a file

        try:
            return openat2.opened(directory, relative, flags)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM):
                raise
    return _walked(directory, relative, flags)


def _walked(directory: int, relative: str, flags: int) -> int:
    """Open one step after the other, and follow no link at all."""
    *folders, name = Path(relative).parts or (".",)
    held = os.dup(directory)
    try:
        for folder in folders:
            step = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            deeper = os.open(folder, step, dir_fd=held)
            os.close(held)
            held = deeper
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=held)
    finally:
        os.close(held)
