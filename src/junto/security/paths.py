"""Files beneath allowed folders, reached so that nothing leads out: no link, no race, no spelling.

Each root is opened once, and every path is walked from there by the kernel, which refuses to leave
it (`openat2`), or step by step without following any link where the kernel cannot.
"""

import contextlib
import errno
import os
import stat
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from junto.domain.errors import (
    InputOutputError,
    NotFoundError,
    PermissionDeniedError,
    SecurityError,
)

_LINUX = sys.platform == "linux"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# What is no file of anybody's, whatever was allowed.
_NEVER = ("/proc", "/sys", "/dev")
_TRIES = 32
_DEEPEST = 200
_LEADS_OUT = (errno.EXDEV, errno.ELOOP, errno.ENOTDIR)


@dataclass(eq=False, slots=True, weakref_slot=True)
class _Root:
    """A folder that stays where it is, wherever links may lead later."""

    path: Path
    _descriptor: int | None = field(default=None, init=False)

    def descriptor(self, shown: str) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self.path, _FOLDER)
            except OSError:
                raise NotFoundError(f"The folder around {shown} is gone.") from None
            weakref.finalize(self, os.close, self._descriptor)
        return self._descriptor


@dataclass(frozen=True, slots=True)
class Place:
    """A name in an open folder: what is done with it happens there and nowhere else."""

    folder: int
    name: str


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders beneath which files may be reached."""

    roots: tuple[_Root, ...]
    # What to say when there are none.
    why_none: str = "No folder is allowed."

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "Roots":
        """Return the roots at `folders`."""
        return cls(tuple(_Root(Path(os.path.realpath(folder))) for folder in folders))

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return where they are."""
        return tuple(root.path for root in self.roots)

    @contextlib.contextmanager
    def opened(
        self, path: str, flags: int = os.O_RDONLY | os.O_NONBLOCK, *, links: bool = True
    ) -> Iterator[int]:
        """Lend a descriptor for what is at `path`.

        Raises:
            SecurityError: it lies outside.
            NotFoundError: there is no such thing.
            InputOutputError: it cannot be opened.
        """
        root, relative = self._located(path)
        with reported(path):
            fd = _beneath(root.descriptor(path), relative, flags | os.O_CLOEXEC, links=links)
        try:
            check(fd, path)
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def placed(self, path: str, *, make: bool = False) -> Iterator[Place]:
        """Lend the folder around `path`, reached without any link, to do something with its name.

        Raises:
            SecurityError: it lies outside, or there is a link on the way.
            NotFoundError: there is no such folder, and none is to be made.
        """
        root, relative = self._located(path)
        folders, name = os.path.split(relative)
        if name in ("", ".", ".."):
            raise SecurityError(f"{path} is an allowed folder itself, and stays as it is.")
        with reported(path):
            fd = _made(root.descriptor(path), folders, make=make)
        try:
            check(fd, path)
            yield Place(fd, name)
        finally:
            os.close(fd)

    def read(self, path: str, most_bytes: int, *, links: bool = True) -> bytes:
        """Return what is in the file at `path`, reached without any link if that is wanted.

        Raises:
            SecurityError: it lies outside, or is no ordinary file.
            NotFoundError: there is no such file.
            InputOutputError: it cannot be read, or is too large.
        """
        with self.opened(path, links=links) as fd:
            found = os.fstat(fd)
            if stat.S_ISDIR(found.st_mode):
                raise InputOutputError(f"{path} is a folder. `list_files` shows what is in it.")
            if not stat.S_ISREG(found.st_mode):
                raise SecurityError(f"{path} is no ordinary file.")
            if found.st_size > most_bytes:
                raise InputOutputError(f"{path} is larger than {most_bytes:,} bytes.")
            with reported(path):
                return _all_of(fd, most_bytes)

    def shown(self, path: str) -> str:
        """Return a path as callers may see it: relative to its root.

        Raises:
            SecurityError: it lies outside.
        """
        return self._located(path)[1]

    def holds(self, path: str, around: str = ".") -> bool:
        """Tell whether a path, seen from the folder `around`, leads beneath a root as links lie."""
        try:
            root, folder = self._located(around)
            whole = str(root.path / folder / path)
            self._located(whole)
            self._located(os.path.realpath(whole))
        except (SecurityError, OSError, ValueError):
            return False
        return True

    def _located(self, path: str) -> tuple[_Root, str]:
        """Return the root that a path is beneath, and the rest of it, by its spelling alone."""
        if "\0" in path or not path:
            raise SecurityError("A path has no NUL in it, and is not empty.")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise SecurityError("A path is written in characters.") from None
        if path.count("/") > _DEEPEST:
            raise SecurityError("A path is not as deep as that.")
        for root in self.roots:
            plain = os.path.normpath(root.path / path)
            relative = os.path.relpath(plain, root.path)
            if relative != os.pardir and not relative.startswith(os.pardir + os.sep):
                return root, relative
        outside = f"{path} lies outside the allowed folders."
        raise SecurityError(outside if self.roots else self.why_none)


@contextlib.contextmanager
def reported(path: str) -> Iterator[None]:
    """Say what went wrong in terms of the path as it was given, never of what lies elsewhere."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"There is no {path}.") from None
    except PermissionError:
        raise PermissionDeniedError(f"{path} may not be opened by this server.") from None
    except OSError as error:
        if error.errno in _LEADS_OUT:
            raise SecurityError(f"{path} leads out of the allowed folders.") from None
        raise InputOutputError(f"{path} cannot be used: {error.strerror}.") from None


def check(fd: int, path: str) -> None:
    """Refuse the kernel's own files, which are beneath a root only if that is the whole disk.

    Raises:
        SecurityError: it is one of them.
    """
    if not _LINUX:
        return
    actual = Path(f"/proc/self/fd/{fd}").readlink()
    if any(actual.is_relative_to(never) for never in _NEVER):
        raise SecurityError(f"{path} is no file of yours.")


def _all_of(fd: int, most_bytes: int) -> bytes:
    pieces, left = [], most_bytes
    while left and (piece := os.read(fd, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _made(directory: int, folders: str, *, make: bool) -> int:
    """Return the folder `folders` beneath `directory`, after making what is missing of it."""
    try:
        return _beneath(directory, folders or ".", _FOLDER, links=False)
    except FileNotFoundError:
        if not make:
            raise
    around, name = os.path.split(folders)
    held = _made(directory, around, make=True)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=held)
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=held)
    finally:
        os.close(held)


def _beneath(directory: int, relative: str, flags: int, *, links: bool) -> int:
    if _LINUX:
        from junto.security import openat2  # for those who open a file

        for _ in range(_TRIES):
            try:
                return openat2.opened(directory, relative, flags, links=links)
            except OSError as error:
                if error.errno in (errno.ENOSYS, errno.EPERM):
                    break
                if error.errno != errno.EAGAIN:  # something was moved while the kernel walked
                    raise
        else:
            raise OSError(errno.EAGAIN, "it is being moved around")
    return _walked(directory, relative, flags)


def _walked(directory: int, relative: str, flags: int) -> int:
    """Open one step after the other, and follow no link at all."""
    *folders, name = Path(relative).parts or (".",)
    held = os.dup(directory)
    try:
        for folder in folders:
            deeper = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=held)
            os.close(held)
            held = deeper
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=held)
    finally:
        os.close(held)
