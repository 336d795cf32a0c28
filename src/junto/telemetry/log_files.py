"""Log files that several processes may write to at once, and that never grow without end."""

import contextlib
import logging.handlers
import os
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from typing_extensions import override

_MOST_BYTES = 10 * 1024 * 1024
_COPIES = 5


class SharedFileHandler(logging.handlers.WatchedFileHandler):
    """Appends to a file that only its owner may read, and sets it aside when it is full.

    Every process appends, so lines are never torn; whoever notices that the file is full renames
    it, under a lock, and the others follow to the new one.
    """

    def __init__(self, path: Path, most_bytes: int = _MOST_BYTES) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self._most = most_bytes

    @override
    def _open(self) -> TextIOWrapper:
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(fd, "a", encoding="utf-8")

    @override
    def emit(self, record: logging.LogRecord) -> None:
        # Whatever goes wrong here costs this line and no call.
        with contextlib.suppress(Exception):
            super().emit(record)
            if self.stream and self.stream.tell() > self._most:
                set_aside(Path(self.baseFilename), self._most)


def set_aside(path: Path, most_bytes: int = _MOST_BYTES) -> None:
    """Rename a file that is full, so that whoever opens it again begins a new one."""
    with _locked(f"{path}.lock"):
        if path.stat().st_size <= most_bytes:
            return  # somebody else was quicker
        for number in range(_COPIES - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(f"{path.name}.{number}").rename(f"{path}.{number + 1}")
        path.rename(f"{path}.1")


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    import fcntl  # not on Windows, where files are left to grow

    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
