"""The state of the background server (daemon): the lock that it holds and its info file.

The lock decides whether a daemon is running: the kernel releases it when the process exits or
crashes. The info file next to it says how to reach the lock holder, and is meaningless while the
lock is free.
"""

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from junto.domain.errors import ExecutionError
from junto.security.file_locks import open_lock_file, try_lock
from junto.security.private_dirs import ensure_private_dir

# Reading the status takes the lock for a moment, so a daemon that is starting must retry.
_MAX_LOCK_ATTEMPTS, _RETRY_DELAY_SECONDS = 100, 0.02

_FIELD_TYPES = {"pid": int, "since": float, "drain": int | float, "url": str, "flags": dict}


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonInfo:
    """What a running daemon publishes about itself."""

    id: str
    pid: int
    born: str
    since: float
    url: str
    version: str
    settings: str
    drain: float
    log: str
    flags: Mapping[str, Any]
    config: str | None


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """Whether a daemon is running, and its info once it has published it."""

    is_running: bool
    daemon: DaemonInfo | None = None


@dataclass(frozen=True, slots=True)
class DaemonDir:
    """The directory with the daemon's lock and info files."""

    path: Path

    @property
    def start_lock_path(self) -> Path:
        """Return the lock held while starting or stopping a daemon."""
        return ensure_private_dir(self.path) / "start.lock"

    @property
    def _lock_path(self) -> Path:
        return ensure_private_dir(self.path) / "server.lock"

    @property
    def _info_path(self) -> Path:
        return self.path / "server.json"

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the daemon lock until the end of the block.

        Raises:
            ExecutionError: a daemon is running already.
        """
        fd = open_lock_file(self._lock_path)
        try:
            if not _lock_with_retry(fd):
                raise ExecutionError("A background server runs already: see `junto status`.")
            self._info_path.unlink(missing_ok=True)
            yield
            self._info_path.unlink(missing_ok=True)
        finally:
            os.close(fd)

    def publish(self, daemon: DaemonInfo) -> None:
        """Write the info file atomically; the caller must hold the lock."""
        temp_path = self._info_path.with_suffix(f".{daemon.pid}")
        fd = os.open(temp_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(asdict(daemon), file)
        temp_path.replace(self._info_path)

    def get_status(self) -> DaemonStatus:
        """Return whether a daemon is running, and its info."""
        fd = open_lock_file(self._lock_path)
        try:
            if try_lock(fd, fcntl.LOCK_SH):
                return DaemonStatus(is_running=False)
        finally:
            os.close(fd)
        try:
            return DaemonStatus(
                is_running=True, daemon=_parse_info(self._info_path.read_text("utf-8"))
            )
        except (OSError, ValueError, TypeError, AttributeError):
            return DaemonStatus(is_running=True)

    def terminate(self, daemon: DaemonInfo) -> bool:
        """Send SIGTERM to this daemon; return False if its process cannot be identified reliably.

        The pid alone may have been reused by another process. On Linux, a pidfd pins the process
        before its start time is compared; elsewhere, the lock has to suffice.
        """
        with contextlib.ExitStack() as stack:
            pidfd = None
            try:
                if hasattr(os, "pidfd_open"):
                    pidfd = os.pidfd_open(daemon.pid)
                    stack.callback(os.close, pidfd)
                if self.get_status().daemon != daemon or read_start_time(daemon.pid) != daemon.born:
                    return False
                if pidfd is None:
                    os.kill(daemon.pid, signal.SIGTERM)
                else:
                    signal.pidfd_send_signal(pidfd, signal.SIGTERM)
            except (OSError, OverflowError):
                return False
        return True


def _parse_info(text: str) -> DaemonInfo:
    """Parse the content of an info file.

    Raises:
        ValueError, TypeError, AttributeError: the content is invalid.
    """
    data: Any = json.loads(text)
    # Ignore unknown fields, so that a daemon of a newer version can still be stopped.
    names = {field.name for field in fields(DaemonInfo)}
    daemon = DaemonInfo(**{name: value for name, value in data.items() if name in names})
    if (
        not all(
            isinstance(data[name], expected_type) for name, expected_type in _FIELD_TYPES.items()
        )
        or daemon.pid <= 0
    ):
        raise TypeError(text)  # kill() treats a pid below 1 as a process group
    return daemon


def _lock_with_retry(fd: int) -> bool:
    for _ in range(_MAX_LOCK_ATTEMPTS):
        if try_lock(fd, fcntl.LOCK_EX):
            return True
        time.sleep(_RETRY_DELAY_SECONDS)
    return False


def read_start_time(pid: int) -> str:
    """Return the start time of a process in clock ticks since boot, or "" without /proc."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
