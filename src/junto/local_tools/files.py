"""Reading, writing, listing and deleting files beneath the allowed folders."""

import contextlib
import fnmatch
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from junto.domain.errors import InputOutputError, SecurityError
from junto.security.paths import Place, Roots, check, reported

MOST_BYTES = 10 * 1024 * 1024
# How deep and how far a recursive list looks, whatever is there.
_DEEPEST = 64
_MOST_SEEN = 200_000
# A repository's own files can make git run commands.
_NOT_WRITTEN = (".git", ".hg", ".svn")
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}


@dataclass(frozen=True, slots=True)
class Details:
    """What is to be known of a file without reading it."""

    path: str
    kind: str
    size: int
    modified: float
    mode: str

    @classmethod
    def of(cls, path: str, found: os.stat_result) -> "Details":
        """Return the details in what the system found."""
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "other")
        return cls(path, kind, found.st_size, found.st_mtime, stat.filemode(found.st_mode))


class Listed(NamedTuple):
    """Some of what is in a folder, and how many names come before the next."""

    entries: tuple[Details, ...]
    following: int | None
    # Whether there was more than anybody looks through.
    cut: bool


@dataclass(frozen=True, slots=True)
class Files:
    """What may be done with files beneath `roots`."""

    roots: Roots

    def read(self, path: str) -> bytes:
        """Return what is in a file.

        Raises:
            JuntoError: it must not be read, or cannot, or is too large.
        """
        return self.roots.read(path, MOST_BYTES)

    def write(self, path: str, content: bytes) -> Details:
        """Put `content` into a file, whole or not at all; missing folders are made.

        Raises:
            SecurityError: it lies outside, is a link, or belongs to a repository itself.
            InputOutputError: it cannot be written, or is too large.
        """
        if len(content) > MOST_BYTES:
            raise InputOutputError(f"A file may have {MOST_BYTES:,} bytes.")
        self._check_writable(path)
        with self.roots.placed(path, make=True) as place, reported(path):
            mode = _mode(path, place)
            return Details.of(self.roots.shown(path), _replaced(place, content, mode))

    def delete(self, path: str) -> None:
        """Delete a file; a folder stays.

        Raises:
            SecurityError: it lies outside, or is no file.
            NotFoundError: there is none.
        """
        self._check_writable(path)
        with self.roots.placed(path) as place, reported(path):
            found = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                raise InputOutputError(f"{path} is a folder; only files are deleted.")
            os.unlink(place.name, dir_fd=place.folder)

    def details(self, path: str) -> Details:
        """Return what is to be known of a file, a folder, or a link, which is not followed.

        Raises:
            SecurityError: it lies outside.
            NotFoundError: there is none.
        """
        shown = self.roots.shown(path)
        if shown == ".":
            with self.roots.opened(path) as fd:
                return Details.of(shown, os.fstat(fd))
        with self.roots.placed(path) as place, reported(path):
            return Details.of(
                shown, os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
            )

    def listed(
        self, path: str, *, recursive: bool, glob: str | None, first: int, limit: int
    ) -> Listed:
        """Return what is in a folder, by name, from number `first` on.

        Raises:
            SecurityError: it lies outside.
            NotFoundError: there is no such folder.
        """
        with self.roots.opened(path, os.O_RDONLY | os.O_DIRECTORY) as folder:
            prefix = self.roots.shown(path)
            walk = _walk(folder, "" if prefix == "." else f"{prefix}/", _DEEPEST * recursive)
            seen: list[Details] = []
            for count, details in enumerate(walk):
                if count >= _MOST_SEEN:
                    return Listed(tuple(seen[first : first + limit]), None, cut=True)
                if glob is None or _fits(details.path, prefix, glob):
                    seen.append(details)
                    if len(seen) > first + limit:
                        return Listed(tuple(seen[first:-1]), first + limit, cut=False)
            return Listed(tuple(seen[first : first + limit]), None, cut=False)

    def _check_writable(self, path: str) -> None:
        parts = Path(self.roots.shown(path).casefold()).parts
        if any(part in _NOT_WRITTEN for part in parts):
            raise SecurityError(f"{path} belongs to a repository itself, which is left alone.")


def _fits(path: str, prefix: str, glob: str) -> bool:
    """Tell whether a path below `prefix`, or its name alone, is meant by a pattern."""
    below = path if prefix == "." else path.removeprefix(f"{prefix}/")
    return any(fnmatch.fnmatchcase(each, glob) for each in (below, Path(path).name))


def _walk(folder: int, prefix: str, deeper: int) -> Iterator[Details]:
    """Yield what is in an open folder, and in those below it; no link is followed."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:  # gone meanwhile, or the kernel's own
        return
    for entry in entries:
        try:
            details = Details.of(prefix + entry.name, entry.stat(follow_symlinks=False))
        except OSError:  # it has gone meanwhile
            continue
        yield _shown(details)
        if deeper and details.kind == "folder":
            try:
                below = os.open(
                    entry.name,
                    os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                    dir_fd=folder,
                )
            except OSError:  # gone, a link by now, or not for us to look into
                continue
            try:
                with contextlib.suppress(SecurityError):
                    check(below, entry.name)
                    yield from _walk(below, f"{prefix}{entry.name}/", deeper - 1)
            finally:
                os.close(below)


def _shown(details: Details) -> Details:
    """Return details with a name that can be sent, whatever bytes it is made of."""
    path = details.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return Details(path, details.kind, details.size, details.modified, details.mode)


def _mode(path: str, place: Place) -> int | None:
    """Return the rights of what a file replaces, if there is something."""
    try:
        found = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise SecurityError(f"{path} is no ordinary file, so it is not written to.")
    return stat.S_IMODE(found.st_mode) & 0o777


def _replaced(place: Place, content: bytes, mode: int | None) -> os.stat_result:
    """Write beside it, then put it in its place in one step."""
    beside = f".{secrets.token_hex(8)}.junto"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(beside, flags, 0o666, dir_fd=place.folder)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            written = os.fstat(file.fileno())
        os.rename(beside, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside, dir_fd=place.folder)
        raise
    return written
