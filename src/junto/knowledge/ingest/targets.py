"""What somebody wants to have indexed: folders, files, patterns, pages of the web."""

import fnmatch
import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path

from junto.domain.errors import NotFoundError

_WEB = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, or the files in it that fit a pattern."""

    path: Path
    pattern: str | None = None
    # Which folder is meant, by device and number: its name may become that of another one.
    identity: tuple[int, int] | None = None

    def takes(self, path: str) -> bool:
        """Tell whether a file is meant, by its path from the folder on."""
        return self.pattern is None or _fits(path, self.pattern)


@dataclass(frozen=True, slots=True)
class File:
    """One file, which was named: it is read whatever rules there are."""

    path: Path


@dataclass(frozen=True, slots=True)
class Web:
    """A page of the public web."""

    url: str


Target = Folder | File | Web


def target(word: str) -> Target:
    """Return what a word of the command line means.

    Raises:
        NotFoundError: there is nothing there.
    """
    if _WEB.match(word):
        return Web(word)
    path = Path(word).expanduser()
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        return File(Path(os.path.realpath(path)))
    if glob.has_magic(word):
        return _pattern(path)
    if path.exists():
        raise NotFoundError(f"{word} is neither a file nor a folder.")
    raise NotFoundError(f"There is no {word}. Name a file, a folder, a pattern, or a URL.")


def _pattern(path: Path) -> Folder:
    parts = path.parts
    first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    folder = Path(*parts[:first]) if first else Path()
    if not folder.is_dir():
        raise NotFoundError(f"There is no folder {folder}.")
    return _folder(folder, "/".join(parts[first:]))


def _folder(path: Path, pattern: str | None = None) -> Folder:
    real = Path(os.path.realpath(path))
    found = real.stat()
    return Folder(real, pattern, (found.st_dev, found.st_ino))


def _fits(path: str, pattern: str) -> bool:
    """Tell whether a path fits a pattern, in which ** stands for any folders, also none."""
    return _steps(tuple(path.split("/")), tuple(pattern.split("/")))


def _steps(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return any(_steps(path[skip:], rest) for skip in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], first) and _steps(path[1:], rest)
