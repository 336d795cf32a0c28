"""Liveness of servers, and the reaper that marks the jobs of dead servers as lost.

Each server locks a marker file in a shared directory; the kernel releases the lock when the
server dies.
"""

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from junto.domain.errors import JuntoError
from junto.domain.jobs import JobStore
from junto.jobs.timings import JobTimings
from junto.security.file_locks import open_lock_file, try_lock
from junto.security.private_dirs import ensure_private_dir
from junto.telemetry.logs import Log

_log = Log.get("jobs")

# A newer marker may belong to a server that has not locked it yet.
_NEW_MARKER_GRACE_SECONDS = 60.0
_LOST_ERROR = {
    "code": "Lost",
    "message": "The server that worked on this died. What it had said is kept; ask again for more.",
    "retryable": True,
}


@dataclass(eq=False, slots=True)
class Liveness:
    """Marks this server as alive in `directory`, and checks other servers."""

    directory: Path
    server_id: str
    _lock_fd: int | None = field(default=None, init=False)

    def announce(self) -> None:
        """Create and lock the marker; if that fails, others rely on heartbeats in the store."""
        if self._lock_fd is not None:
            return
        try:
            self._lock_fd = open_lock_file(ensure_private_dir(self.directory) / self.server_id)
            try_lock(self._lock_fd, fcntl.LOCK_EX)
        except (OSError, JuntoError) as error:
            _log.warning(
                "no sign of life can be left", folder=str(self.directory), reason=str(error)
            )

    def withdraw(self) -> None:
        """Remove the marker, once no jobs are left."""
        if self._lock_fd is not None:
            self.remove_marker(self.server_id)
            os.close(self._lock_fd)
            self._lock_fd = None

    def is_alive(self, server_id: str) -> bool | None:
        """Return whether another server is alive, or None if it has no marker here."""
        if not server_id.isalnum():  # from the store: must not lead to another path
            return None
        try:
            fd = os.open(self.directory / server_id, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return not try_lock(fd, fcntl.LOCK_EX)
        finally:
            os.close(fd)

    def remove_stale_markers(self) -> None:
        """Remove the markers of dead servers."""
        with contextlib.suppress(OSError):
            cutoff = time.time() - _NEW_MARKER_GRACE_SECONDS
            markers = [
                marker for marker in self.directory.iterdir() if marker.stat().st_mtime < cutoff
            ]
            for marker in markers:
                if self.is_alive(marker.name) is False:
                    self.remove_marker(marker.name)

    def remove_marker(self, server_id: str) -> None:
        """Remove the marker of a server."""
        with contextlib.suppress(OSError):
            (self.directory / server_id).unlink()


@dataclass(frozen=True, slots=True)
class JobReaper:
    """Marks lost jobs and deletes expired ones, for all servers that share the store."""

    store: JobStore
    liveness: Liveness
    retention_seconds: float
    now: Callable[[], float]
    timings: JobTimings

    async def run(self) -> None:
        """Clean up periodically until cancelled."""
        await asyncio.sleep(self.timings.reap_delay_seconds)
        while True:
            try:
                await self.reap_lost()
                self.liveness.remove_stale_markers()
                deleted = await self.store.delete_expired(self.now() - self.retention_seconds)
                (_log.info if deleted else _log.debug)("jobs swept", deleted=deleted)
            except JuntoError as error:
                _log.warning("jobs not swept", reason=error.message)
            await asyncio.sleep(self.timings.reap_interval_seconds)

    async def reap_lost(self) -> int:
        """Mark the unfinished jobs of dead servers as lost, and return their number."""
        count = 0
        for server, seconds_ago in (await self.store.list_busy_servers()).items():
            if server != self.liveness.server_id and not self._is_server_alive(server, seconds_ago):
                count += await self.store.mark_lost(server, self.now(), _LOST_ERROR)
                self.liveness.remove_marker(server)
        if count:
            _log.warning("jobs were lost with their server", jobs=count)
        return count

    def _is_server_alive(self, server_id: str, seconds_ago: float) -> bool:
        is_alive = self.liveness.is_alive(server_id)
        return seconds_ago < self.timings.dead_after_seconds if is_alive is None else is_alive
