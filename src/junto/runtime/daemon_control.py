"""Start and stop the background server (daemon); concurrent callers are serialized by a lock."""

import contextlib
import http.client
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from junto.domain.errors import ExecutionError, InputOutputError
from junto.runtime.daemon_state import DaemonDir, DaemonInfo
from junto.security.file_locks import hold_lock_blocking
from junto.security.private_dirs import make_private_dirs
from junto.telemetry.log_files import OUTPUT_OPEN_FLAGS, rotate_file

_START_TIMEOUT_SECONDS = 60.0
# Added to the drain time, for closing files and stopping jobs.
_SHUTDOWN_GRACE_SECONDS = 15.0
_POLL_SECONDS = 0.02
_HEALTH_TIMEOUT_SECONDS = 5.0
_MAX_LOG_TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True)
class DaemonController:
    """A controller that starts, stops and restarts the daemon."""

    daemon_dir: DaemonDir
    command: tuple[str, ...]
    log_path: Path
    # Pids started by this process, which must reap them when they exit.
    _children: list[int] = field(default_factory=list, init=False)

    def start(self) -> tuple[DaemonInfo, bool]:
        """Start the daemon if needed; return it and whether it was started by this call.

        Raises:
            ExecutionError: it exited or did not respond; if it exited, the message has its output.
        """
        with hold_lock_blocking(self.daemon_dir.start_lock_path):
            return self._start()

    def stop(self) -> DaemonInfo | None:
        """Stop the daemon and return its info, or None if it was not running.

        Raises:
            ExecutionError: it cannot be stopped from here, or did not exit in time.
        """
        with hold_lock_blocking(self.daemon_dir.start_lock_path):
            return self._stop()

    def restart(self) -> tuple[DaemonInfo | None, DaemonInfo]:
        """Stop and start the daemon under one lock; return the previous and the new one."""
        with hold_lock_blocking(self.daemon_dir.start_lock_path):
            return self._stop(), self._start()[0]

    def _start(self) -> tuple[DaemonInfo, bool]:
        deadline = time.monotonic() + _START_TIMEOUT_SECONDS
        # A daemon that holds the lock may still be starting up or shutting down.
        while (status := self.daemon_dir.get_status()).is_running:
            if status.daemon and is_responding(status.daemon):
                return status.daemon, False
            if time.monotonic() > deadline:
                raise ExecutionError(
                    "A background server holds its lock and does not answer. "
                    f"Look into {self.log_path}, or end it with `junto stop`."
                )
            time.sleep(_POLL_SECONDS)
        return self._launch(), True

    def _launch(self) -> DaemonInfo:
        self._children[:] = [pid for pid in self._children if not _has_exited(pid)]
        log_offset = _prepare_log(self.log_path)
        pid = _spawn_detached(self.command, self.log_path)
        self._children.append(pid)
        deadline = time.monotonic() + _START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            daemon = self.daemon_dir.get_status().daemon
            if daemon and daemon.pid == pid and is_responding(daemon):
                return daemon
            if _has_exited(pid):
                self._children.remove(pid)
                output = _read_log_tail(self.log_path, log_offset)
                raise ExecutionError(f"The background server did not start. {output}".strip())
            time.sleep(_POLL_SECONDS)
        raise ExecutionError(
            f"The background server (pid {pid}) does not answer yet. Look into {self.log_path}."
        )

    def _stop(self) -> DaemonInfo | None:
        status = self.daemon_dir.get_status()
        if not status.is_running:
            return None
        daemon = status.daemon
        if daemon is None or not self.daemon_dir.terminate(daemon):
            if not self.daemon_dir.get_status().is_running:
                return daemon  # it has exited by itself
            raise ExecutionError(
                "A background server runs, but which process it is cannot be told from here, so "
                f"none was touched. Try again in a moment, or end it by hand; see {self.log_path}."
            )
        return self._wait_for_exit(daemon)

    def _wait_for_exit(self, daemon: DaemonInfo) -> DaemonInfo:
        timeout = daemon.drain + _SHUTDOWN_GRACE_SECONDS
        deadline = time.monotonic() + timeout
        while self.daemon_dir.get_status().is_running:
            if time.monotonic() > deadline:
                raise ExecutionError(
                    f"The background server (pid {daemon.pid}) was asked to end {timeout:.0f} "
                    f"seconds ago and still runs. Look into {daemon.log}."
                )
            time.sleep(_POLL_SECONDS)
        return daemon


def is_responding(daemon: DaemonInfo) -> bool:
    """Return whether the daemon reports that it is healthy."""
    return is_healthy(daemon.url)


def is_healthy(url: str, timeout: float = _HEALTH_TIMEOUT_SECONDS) -> bool:
    """Return whether a Junto server at `url` reports that it is healthy."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/health")
            response = connection.getresponse()
            return response.status == http.client.OK and b'"status":"ok"' in response.read(1000)
        except (OSError, http.client.HTTPException):
            return False


def _prepare_log(log_path: Path) -> int:
    """Create the log directory, rotate a full log file, and return the size of the log file."""
    try:
        make_private_dirs(log_path.parent)
        with contextlib.suppress(FileNotFoundError):
            rotate_file(log_path)
        return log_path.stat().st_size if log_path.exists() else 0
    except OSError as error:
        raise InputOutputError(f"{log_path} cannot be written: {error.strerror}.") from error


def _spawn_detached(command: tuple[str, ...], log_path: Path) -> int:
    """Start a process that outlives this one: own session, no stdin, output to the log file."""
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log_path), OUTPUT_OPEN_FLAGS, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def _has_exited(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # it has been reaped already
        return True


def _read_log_tail(log_path: Path, offset: int) -> str:
    with contextlib.suppress(OSError), log_path.open("rb") as file:
        file.seek(offset)
        return file.read()[-_MAX_LOG_TAIL_BYTES:].decode(errors="replace").strip()
    return ""
