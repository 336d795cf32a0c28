"""A llama.cpp server that all processes of a user share, and that runs while any of them uses it.

Three files in a private directory coordinate the processes through locks, which the system
releases when their holder dies:

    users     held shared by each user process; the engine exits once it can lock it exclusively
    start     held exclusively by the process that starts the engine
    engine    held exclusively by the engine while it runs
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from junto.domain.errors import ExecutionError, InputOutputError, TimeLimitError
from junto.providers.local.llama_server import EXIT_ALREADY_RUNNING
from junto.security.file_locks import acquire_lock, hold_lock, open_lock_file
from junto.security.private_dirs import ensure_private_dir
from junto.telemetry.logs import Log

_log = Log.get("providers")
_POLL_SECONDS = 0.02
_MAX_START_SECONDS = 120.0
_MAX_STOP_SECONDS = 10.0
_MAX_SOCKET_PATH_BYTES = 100  # the limit is 104 to 108 bytes, depending on the system
_MAX_LOG_CHARS = 500
# The only environment variables that are passed to the engine.
_ENVIRONMENT_ALLOWLIST = ("PATH", "LANG", "HOME", "TMPDIR", "PYTHONPATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The weights and the resources of an engine."""

    weights: Path
    context_tokens: int = 8192
    threads: int = 1

    def fingerprint(self) -> str:
        """Return a hash that identifies the weights and the options."""
        stat = self.weights.stat()
        identity = (self.weights.resolve(), stat.st_size, stat.st_mtime_ns, self.context_tokens)
        return hashlib.sha256(f"{identity} {self.threads}".encode()).hexdigest()[:12]


@dataclass(eq=False, slots=True)
class Engine:
    """A handle to the engine, which starts it on demand and releases it when idle."""

    directory: Path
    options: EngineOptions
    idle_seconds: float = 300
    _users_fd: int | None = field(default=None, init=False)
    _active_calls: int = field(default=0, init=False)
    _release_timer: asyncio.TimerHandle | None = field(default=None, init=False)

    @classmethod
    def create(cls, runtime_dir: Path, options: EngineOptions, idle_seconds: float) -> "Engine":
        """Return the engine with a directory under `runtime_dir`.

        Raises:
            SecurityError: other users have access to the directory.
            InputOutputError: the weights cannot be read, or the directory cannot be used.
        """
        try:
            name = options.fingerprint()
        except OSError as error:
            raise InputOutputError(
                f"{options.weights} cannot be read: {error.strerror}. Set embedded.model to a "
                "GGUF file, or leave it unset."
            ) from error
        directory = ensure_private_dir(ensure_private_dir(runtime_dir) / name)
        if len(os.fsencode(directory / "loading.sock")) > _MAX_SOCKET_PATH_BYTES:
            raise InputOutputError(f"{directory} is too long a path for a socket.")
        return cls(directory, options, idle_seconds)

    @property
    def socket_path(self) -> Path:
        """Return the path of the socket that the running engine listens on."""
        return self.directory / "ready.sock"

    @contextlib.asynccontextmanager
    async def use(self) -> AsyncIterator[str]:
        """Yield the API key of the running engine, which runs at least until the end of the block.

        Raises:
            ExecutionError: the engine does not start.
            TimeLimitError: the engine does not start in time, or a previous one does not exit.
        """
        self._active_calls += 1
        try:
            await self._acquire()
            await self._ensure_running()
            yield (self.directory / "key").read_text()
        finally:
            self._active_calls -= 1
            if not self._active_calls:
                loop = asyncio.get_running_loop()
                self._release_timer = loop.call_later(self.idle_seconds, self.release)

    def release(self) -> None:
        """Stop using the engine; it exits if no other process uses it."""
        if self._release_timer:
            self._release_timer.cancel()
            self._release_timer = None
        if self._users_fd is not None:
            os.close(self._users_fd)
            self._users_fd = None

    async def _acquire(self) -> None:
        if self._release_timer:
            self._release_timer.cancel()
            self._release_timer = None
        if self._users_fd is None:
            fd = open_lock_file(self.directory / "users")
            try:
                # Only an engine that is exiting blocks this, which does not take long.
                async with asyncio.timeout(_MAX_STOP_SECONDS):
                    await acquire_lock(fd, fcntl.LOCK_SH)
            except TimeoutError:
                os.close(fd)
                raise TimeLimitError(
                    "An embedded engine that should have ended has not. End it by hand: "
                    "pkill -f junto.providers.local.llama_server"
                ) from None
            except BaseException:
                os.close(fd)
                raise
            if self._users_fd is None:
                self._users_fd = fd
            else:
                os.close(fd)  # a concurrent call was faster

    async def _ensure_running(self) -> None:
        if self.is_running():
            return
        async with hold_lock(self.directory / "start"):
            if not self.is_running():
                await self._start()

    def is_running(self) -> bool:
        """Return whether the engine is running and ready."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(os.fsencode(self.socket_path)) == 0

    async def _start(self) -> None:
        started = time.monotonic()
        with (self.directory / "log").open("wb") as log:
            child = await asyncio.to_thread(_spawn, self.directory, self.options, log.fileno())
        while not self.is_running():
            # If another process spawned an engine and died, ours exits, and we wait for that one.
            if child.poll() not in (None, EXIT_ALREADY_RUNNING):
                raise ExecutionError(
                    f"The embedded engine did not start. {self._read_log_tail()}".rstrip()
                )
            if time.monotonic() - started > _MAX_START_SECONDS:
                child.kill()
                raise TimeLimitError("The embedded engine did not start in time.")
            await asyncio.sleep(_POLL_SECONDS)
        _log.info("embedded engine started", seconds=round(time.monotonic() - started, 2))

    def _read_log_tail(self) -> str:
        """Return the last lines of the engine's log."""
        lines = (self.directory / "log").read_text("utf-8", "replace").strip().splitlines()
        return " ".join(lines[-3:])[:_MAX_LOG_CHARS]


def _spawn(directory: Path, options: EngineOptions, log_fd: int) -> "subprocess.Popen[bytes]":
    args = (str(options.weights), str(options.context_tokens), str(options.threads))
    # A new session, because the engine serves other processes too and must not get our Ctrl-C.
    # -P, so that a module in the working directory cannot shadow one of ours.
    child = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", "junto.providers.local.llama_server", str(directory), *args],
        stdin=subprocess.DEVNULL,
        stdout=log_fd,
        stderr=log_fd,
        env={name: os.environ[name] for name in _ENVIRONMENT_ALLOWLIST if name in os.environ},
        start_new_session=True,
    )
    # Reaps the process, which would otherwise remain as a zombie.
    threading.Thread(target=child.wait, daemon=True, name="engine").start()
    return child
