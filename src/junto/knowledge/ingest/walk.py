"""Folders walked without leaving them: no link is followed, no other device entered."""

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote_from_bytes

from junto.domain.errors import JuntoError, NotFoundError
from junto.knowledge.ingest.rules import MOST_BYTES, NAMES, Rules, is_secret
from junto.security.paths import Roots, reported

_LATEST = 253_402_300_000.0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Spot:
    """A file: its name in its folder, its size, and when it was changed."""

    name: str
    size: int
    modified: float


@dataclass(slots=True)
class Listing:
    """What lies in a folder, whose path is relative to where the walk began."""

    path: str
    files: list[Spot] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    # Why it could not be looked into.
    problem: str | None = None

    def within(self, name: str) -> str:
        """Return the path of something in it."""
        return f"{self.path}/{name}" if self.path else name


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder and everything beneath it."""

    root: Path
    roots: Roots
    identity: tuple[int, int] | None = None

    @classmethod
    def at(cls, folder: Path, identity: tuple[int, int] | None = None) -> "Tree":
        """Return the tree at a folder, if it is still the one that is meant."""
        return cls(folder, Roots.of([folder]), identity)

    def url(self, path: str = "") -> str:
        """Return the address of something in it."""
        return file_url(self.root / path if path else self.root)

    def walk(self) -> Iterator[Listing]:
        """Yield each folder, the outer ones first."""
        pending = [("", Rules.around(self.root))]
        device: int | None = None
        while pending:
            path, rules = pending.pop()
            listing, folders = Listing(path), list[str]()
            try:
                with reported(path or str(self.root)):
                    device = self._device() if device is None else device
                    folders, rules = self._look(listing, rules, device)
            except JuntoError as error:
                listing.problem = error.message
            yield listing
            pending += [(listing.within(name), rules) for name in sorted(folders, reverse=True)]

    def _device(self) -> int:
        """Return what the folder lies on, after a look whether it is the one that is meant."""
        # All else is reached from this descriptor, wherever the name leads later.
        with self.roots.opened(".", _FOLDER, links=False) as fd:
            found = os.fstat(fd)
        if self.identity not in (None, (found.st_dev, found.st_ino)):
            raise NotFoundError(f"{self.root} is another folder now.")
        return found.st_dev

    def _look(self, listing: Listing, rules: Rules, device: int) -> tuple[list[str], Rules]:
        """Sort out what is in a folder, and return the folders to look into next."""
        for name in NAMES:
            with contextlib.suppress(JuntoError):
                content = self.roots.read(listing.within(name), MOST_BYTES, links=False)
                rules = rules.within(listing.path, content)
        folders: list[str] = []
        for name, found in self._entries(listing.path):
            folder = stat.S_ISDIR(found.st_mode)
            if rules.leave_out(listing.within(name), folder=folder):
                listing.skipped["ignored"] += 1
            elif reason := _out_of_bounds(name, found, device):
                listing.skipped[reason] += 1
            elif folder:
                folders.append(name)
            else:
                listing.files.append(Spot(name, found.st_size, changed_at(found)))
        listing.files.sort(key=lambda spot: spot.name)
        return folders, rules

    def _entries(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        opened = self.roots.opened(path or ".", _FOLDER, links=False)
        with opened as fd, os.scandir(fd) as entries:
            for each in entries:
                with contextlib.suppress(FileNotFoundError):  # it is gone meanwhile
                    yield each.name, each.stat(follow_symlinks=False)


def _out_of_bounds(name: str, found: os.stat_result, device: int) -> str | None:
    """Return why something is not read, if there is a reason."""
    if stat.S_ISLNK(found.st_mode):
        return "links"
    if found.st_dev != device:
        return "on another device"
    if stat.S_ISDIR(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        return "no ordinary files"
    return "named like secrets" if is_secret(name) else None


def changed_at(found: os.stat_result) -> float:
    """Return when a file was changed; some say that they are from before 1970, or after 9999."""
    return min(max(found.st_mtime_ns / 1e9, 0.0), _LATEST)


def file_url(path: Path) -> str:
    """Return the address of a file, whatever its name is written in."""
    return "file://" + quote_from_bytes(os.fsencode(path), safe="/~!$&'()*+,;=:@")
