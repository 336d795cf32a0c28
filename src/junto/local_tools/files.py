"""Reading, writing, listing and deleting files below the allowed directories."""

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
from junto.security.paths import DirTarget, Roots, reject_kernel_files, translate_os_errors

MAX_FILE_BYTES = 10 * 1024 * 1024
# Limits for a recursive listing.
_MAX_DEPTH = 64
_MAX_ENTRIES = 200_000
# Files in a repository's own directory can make git run commands.
_PROTECTED_DIRS = (".git", ".hg", ".svn")
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}


@dataclass(frozen=True, slots=True)
class FileInfo:
    """The metadata of a file."""

    path: str
    kind: str
    size: int
    modified: float
    mode: str

    @classmethod
    def from_stat(cls, path: str, stat_result: os.stat_result) -> "FileInfo":
        """Build the metadata from a stat result."""
        kind = _KINDS.get(stat.S_IFMT(stat_result.st_mode), "other")
        return cls(
            path,
            kind,
            stat_result.st_size,
            stat_result.st_mtime,
            stat.filemode(stat_result.st_mode),
        )


class DirectoryListing(NamedTuple):
    """A page of directory entries, and the offset of the next page."""

    entries: tuple[FileInfo, ...]
    next_offset: int | None
    # Whether the directory has more entries than a listing examines.
    truncated: bool


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """File operations below `roots`."""

    roots: Roots

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            JuntoError: the file is not allowed, cannot be read, or is too large.
        """
        return self.roots.read(path, MAX_FILE_BYTES)

    def write(self, path: str, content: bytes) -> FileInfo:
        """Write a file atomically, creating missing parent directories.

        Raises:
            SecurityError: the path is outside the roots, a link, or part of a repository's data.
            InputOutputError: the file cannot be written, or `content` is too large.
        """
        if len(content) > MAX_FILE_BYTES:
            raise InputOutputError(f"A file may have {MAX_FILE_BYTES:,} bytes.")
        self._check_writable(path)
        with self.roots.open_parent(path, create=True) as target, translate_os_errors(path):
            mode = _read_mode(path, target)
            return FileInfo.from_stat(
                self.roots.relativize(path), _replace_file(target, content, mode)
            )

    def delete(self, path: str) -> None:
        """Delete a file; directories are not deleted.

        Raises:
            SecurityError: the path is outside the roots, or in a repository's own directory.
            NotFoundError: there is no such file.
            InputOutputError: the path is a directory.
        """
        self._check_writable(path)
        with self.roots.open_parent(path) as target, translate_os_errors(path):
            stat_result = os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
            if stat.S_ISDIR(stat_result.st_mode):
                raise InputOutputError(f"{path} is a folder; only files are deleted.")
            os.unlink(target.name, dir_fd=target.dir_fd)

    def get_info(self, path: str) -> FileInfo:
        """Return the metadata of a file, directory or link; links are not followed.

        Raises:
            SecurityError: the path is outside the roots.
            NotFoundError: there is no such file.
        """
        relative_path = self.roots.relativize(path)
        if relative_path == ".":
            with self.roots.open(path) as fd:
                return FileInfo.from_stat(relative_path, os.fstat(fd))
        with self.roots.open_parent(path) as target, translate_os_errors(path):
            return FileInfo.from_stat(
                relative_path, os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
            )

    def list_directory(
        self, path: str, *, recursive: bool, glob: str | None, offset: int, limit: int
    ) -> DirectoryListing:
        """Return directory entries sorted by name, starting at `offset`.

        Raises:
            SecurityError: the path is outside the roots.
            NotFoundError: there is no such directory.
        """
        with self.roots.open(path, os.O_RDONLY | os.O_DIRECTORY) as directory_fd:
            prefix = self.roots.relativize(path)
            walk = _walk(
                directory_fd, "" if prefix == "." else f"{prefix}/", _MAX_DEPTH * recursive
            )
            entries: list[FileInfo] = []
            for count, info in enumerate(walk):
                if count >= _MAX_ENTRIES:
                    return DirectoryListing(
                        tuple(entries[offset : offset + limit]), None, truncated=True
                    )
                if glob is None or _matches_glob(info.path, prefix, glob):
                    entries.append(info)
                    if len(entries) > offset + limit:
                        return DirectoryListing(
                            tuple(entries[offset:-1]), offset + limit, truncated=False
                        )
            return DirectoryListing(tuple(entries[offset : offset + limit]), None, truncated=False)

    def _check_writable(self, path: str) -> None:
        parts = Path(self.roots.relativize(path).casefold()).parts
        if any(part in _PROTECTED_DIRS for part in parts):
            raise SecurityError(f"{path} belongs to a repository itself, which is left alone.")


def _matches_glob(path: str, prefix: str, glob: str) -> bool:
    """Return whether a pattern matches a path relative to `prefix`, or the file name alone."""
    relative_path = path if prefix == "." else path.removeprefix(f"{prefix}/")
    return any(fnmatch.fnmatchcase(each, glob) for each in (relative_path, Path(path).name))


def _walk(directory_fd: int, prefix: str, max_depth: int) -> Iterator[FileInfo]:
    """Yield the entries of an open directory and of those below it; no link is followed."""
    try:
        with os.scandir(directory_fd) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:  # deleted meanwhile, or in a kernel file system
        return
    for entry in entries:
        try:
            info = FileInfo.from_stat(prefix + entry.name, entry.stat(follow_symlinks=False))
        except OSError:  # deleted meanwhile
            continue
        yield _make_encodable(info)
        if max_depth and info.kind == "folder":
            try:
                child_fd = os.open(
                    entry.name,
                    os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                    dir_fd=directory_fd,
                )
            except OSError:  # deleted or replaced by a link meanwhile, or no permission
                continue
            try:
                with contextlib.suppress(SecurityError):
                    reject_kernel_files(child_fd, entry.name)
                    yield from _walk(child_fd, f"{prefix}{entry.name}/", max_depth - 1)
            finally:
                os.close(child_fd)


def _make_encodable(info: FileInfo) -> FileInfo:
    """Return the metadata with a path that can be encoded, whatever bytes it consists of."""
    path = info.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return FileInfo(path, info.kind, info.size, info.modified, info.mode)


def _read_mode(path: str, target: DirTarget) -> int | None:
    """Return the permissions of the file to be replaced, if there is one."""
    try:
        stat_result = os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(stat_result.st_mode):
        raise SecurityError(f"{path} is no ordinary file, so it is not written to.")
    return stat.S_IMODE(stat_result.st_mode) & 0o777


def _replace_file(target: DirTarget, content: bytes, mode: int | None) -> os.stat_result:
    """Write a temporary file next to the target, then rename it over the target."""
    temporary_name = f".{secrets.token_hex(8)}.junto"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary_name, flags, 0o666, dir_fd=target.dir_fd)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            stat_result = os.fstat(file.fileno())
        os.rename(temporary_name, target.name, src_dir_fd=target.dir_fd, dst_dir_fd=target.dir_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary_name, dir_fd=target.dir_fd)
        raise
    return stat_result
