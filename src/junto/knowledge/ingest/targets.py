"""Targets of indexing (directories, files, patterns, web pages), and watching them."""

import asyncio
import fnmatch
import glob
import os
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from junto.domain.errors import ConfigurationError, NotFoundError

_WEB_URL = re.compile(r"https?://", re.IGNORECASE)
_WATCH_INSTALL_HINT = "Watching files needs: pip install 'junto[documents]'."


@dataclass(frozen=True, slots=True)
class DirectoryTarget:
    """A directory, or the files in it that match a pattern."""

    path: Path
    pattern: str | None = None
    # Device and inode number, because the path may later lead to another directory.
    identity: tuple[int, int] | None = None

    def includes(self, path: str) -> bool:
        """Return whether the target includes a file, by its path within the directory."""
        return self.pattern is None or _matches(path, self.pattern)


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A single file, to which no ignore rules apply."""

    path: Path


@dataclass(frozen=True, slots=True)
class WebTarget:
    """A page on the public web."""

    url: str


Target = DirectoryTarget | FileTarget | WebTarget


def parse_target(argument: str) -> Target:
    """Parse a command-line argument.

    Raises:
        NotFoundError: there is no such file or directory.
    """
    if _WEB_URL.match(argument):
        return WebTarget(argument)
    path = Path(argument).expanduser()
    if path.is_dir():
        return _build_directory_target(path)
    if path.is_file():
        return FileTarget(Path(os.path.realpath(path)))
    if glob.has_magic(argument):
        return _parse_glob(path)
    if path.exists():
        raise NotFoundError(f"{argument} is neither a file nor a folder.")
    raise NotFoundError(f"There is no {argument}. Name a file, a folder, a pattern, or a URL.")


def _parse_glob(path: Path) -> DirectoryTarget:
    parts = path.parts
    first_magic = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    directory = Path(*parts[:first_magic]) if first_magic else Path()
    if not directory.is_dir():
        raise NotFoundError(f"There is no folder {directory}.")
    return _build_directory_target(directory, "/".join(parts[first_magic:]))


def _build_directory_target(path: Path, pattern: str | None = None) -> DirectoryTarget:
    real_path = Path(os.path.realpath(path))
    stat_result = real_path.stat()
    return DirectoryTarget(real_path, pattern, (stat_result.st_dev, stat_result.st_ino))


def _matches(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern; ** matches any number of directories."""
    return _matches_segments(tuple(path.split("/")), tuple(pattern.split("/")))


def _matches_segments(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return any(_matches_segments(path[skip:], rest) for skip in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], first) and _matches_segments(path[1:], rest)


async def watch_targets(
    targets: Sequence[DirectoryTarget | FileTarget],
) -> AsyncGenerator[list[DirectoryTarget | FileTarget]]:
    """Yield the targets that have changed, whenever some have.

    Raises:
        ConfigurationError: watchfiles is not installed.
    """
    try:
        from watchfiles import awatch
    except ImportError:
        raise ConfigurationError(_WATCH_INSTALL_HINT) from None
    watched_paths = {each.path for each in targets}
    stop = asyncio.Event()
    try:
        async for changes in awatch(*watched_paths, stop_event=stop):
            changed_paths = [Path(path) for _, path in changes]
            changed_targets = [
                each
                for each in targets
                if any(path.is_relative_to(each.path) for path in changed_paths)
            ]
            if changed_targets:
                yield changed_targets
    finally:
        stop.set()
