"""Walks of directory trees that follow no links and stay on one device."""

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote_from_bytes

from junto.domain.errors import JuntoError, NotFoundError
from junto.knowledge.ingest.ignore_rules import (
    IGNORE_FILE_NAMES,
    MAX_IGNORE_FILE_BYTES,
    IgnoreRules,
    is_secret,
)
from junto.security.paths import Roots, translate_os_errors

_MAX_TIMESTAMP = 253_402_300_000.0
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file in a directory: its name, size and modification time."""

    name: str
    size: int
    modified: float


@dataclass(slots=True)
class DirectoryScan:
    """The content of a directory, with its path relative to the root of the walk."""

    path: str
    files: list[FileEntry] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    # Why the directory could not be read.
    problem: str | None = None

    def join(self, name: str) -> str:
        """Return the path of an entry of the directory."""
        return f"{self.path}/{name}" if self.path else name


@dataclass(frozen=True, slots=True)
class DirectoryTree:
    """A directory and everything below it."""

    root: Path
    roots: Roots
    identity: tuple[int, int] | None = None

    @classmethod
    def from_path(cls, path: Path, identity: tuple[int, int] | None = None) -> "DirectoryTree":
        """Return the tree at `path`; a walk checks that it still has this identity."""
        return cls(path, Roots.from_paths([path]), identity)

    def url(self, path: str = "") -> str:
        """Return the URL of a path in the tree."""
        return file_url(self.root / path if path else self.root)

    def walk(self) -> Iterator[DirectoryScan]:
        """Yield each directory, parents before their children."""
        pending = [("", IgnoreRules.from_repository(self.root))]
        device: int | None = None
        while pending:
            path, rules = pending.pop()
            scan, subdirectories = DirectoryScan(path), list[str]()
            try:
                with translate_os_errors(path or str(self.root)):
                    device = self._find_device() if device is None else device
                    subdirectories, rules = self._scan_directory(scan, rules, device)
            except JuntoError as error:
                scan.problem = error.message
            yield scan
            pending += [(scan.join(name), rules) for name in sorted(subdirectories, reverse=True)]

    def _find_device(self) -> int:
        """Return the device of the root, after checking the root's identity."""
        # The root stays open and everything is reached from it, wherever its path leads later.
        with self.roots.open(".", _DIRECTORY_FLAGS, follow_links=False) as fd:
            stat_result = os.fstat(fd)
        if self.identity not in (None, (stat_result.st_dev, stat_result.st_ino)):
            raise NotFoundError(f"{self.root} is another folder now.")
        return stat_result.st_dev

    def _scan_directory(
        self, listing: DirectoryScan, rules: IgnoreRules, device: int
    ) -> tuple[list[str], IgnoreRules]:
        """Add the entries of a directory to `listing`; return its subdirectories and rules."""
        for name in IGNORE_FILE_NAMES:
            with contextlib.suppress(JuntoError):
                content = self.roots.read(
                    listing.join(name), MAX_IGNORE_FILE_BYTES, follow_links=False
                )
                rules = rules.with_ignore_file(listing.path, content)
        subdirectories: list[str] = []
        for name, stat_result in self._iter_entries(listing.path):
            is_dir = stat.S_ISDIR(stat_result.st_mode)
            if rules.is_ignored(listing.join(name), is_dir=is_dir):
                listing.skipped["ignored"] += 1
            elif reason := _find_skip_reason(name, stat_result, device):
                listing.skipped[reason] += 1
            elif is_dir:
                subdirectories.append(name)
            else:
                listing.files.append(
                    FileEntry(name, stat_result.st_size, get_modified_time(stat_result))
                )
        listing.files.sort(key=lambda file: file.name)
        return subdirectories, rules

    def _iter_entries(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        directory = self.roots.open(path or ".", _DIRECTORY_FLAGS, follow_links=False)
        with directory as fd, os.scandir(fd) as entries:
            for each in entries:
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    yield each.name, each.stat(follow_symlinks=False)


def _find_skip_reason(name: str, stat_result: os.stat_result, device: int) -> str | None:
    """Return why an entry is skipped, or None if it is not."""
    if stat.S_ISLNK(stat_result.st_mode):
        return "links"
    if stat_result.st_dev != device:
        return "on another device"
    if stat.S_ISDIR(stat_result.st_mode):
        return None
    if not stat.S_ISREG(stat_result.st_mode):
        return "no ordinary files"
    return "named like secrets" if is_secret(name) else None


def get_modified_time(stat_result: os.stat_result) -> float:
    """Return a file's modification time, limited to the years 1970 to 9999."""
    return min(max(stat_result.st_mtime_ns / 1e9, 0.0), _MAX_TIMESTAMP)


def file_url(path: Path) -> str:
    """Return the URL of a file, whatever bytes its name consists of."""
    return "file://" + quote_from_bytes(os.fsencode(path), safe="/~!$&'()*+,;=:@")
