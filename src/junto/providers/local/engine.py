"""One llama.cpp server for all processes of a user, there for as long as somebody uses it.

Three files in a private folder do all the talking, by locks that no dead process can hold:

    users     held shared by everyone who uses the engine; the engine waits to have it alone
    start     held alone by whoever is starting the engine
    engine    held alone by the engine, for as long as it runs
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
from junto.providers.embedded.child import ALREADY_RUNNING
from junto.security.folders import private_folder
from junto.security.locks import alone, opened, waited
from junto.telemetry.logs import Log

_log = Log.of("providers")
_LOOK_AGAIN = 0.02
_LONGEST_START = 120.0
_LONGEST_END = 10.0
_LONGEST_PATH = 100  # the kernel takes a socket's address of 104 to 108 bytes, by system
_TOLD = 500
# All that the engine gets to know of our environment.
_ENVIRONMENT = ("PATH", "LANG", "HOME", "TMPDIR", "PYTHONPATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What an engine runs, and how."""

    weights: Path
    context: int = 8192
    threads: int = 1

    def fingerprint(self) -> str:
        """Return a name that only the same engine has."""
        found = self.weights.stat()
        facts = (self.weights.resolve(), found.st_size, found.st_mtime_ns, self.context)
        return hashlib.sha256(f"{facts} {self.threads}".encode()).hexdigest()[:12]


@dataclass(eq=False, slots=True)
class Engine:
    """Our side of it: starts it when it is not there, and lets go of it when idle."""

    folder: Path
    options: EngineOptions
    idle: float = 300
    _users: int | None = field(default=None, init=False)
    _calls: int = field(default=0, init=False)
    _leaving: asyncio.TimerHandle | None = field(default=None, init=False)

    @classmethod
    def beneath(cls, runtime: Path, options: EngineOptions, idle: float) -> "Engine":
        """Return the engine whose folder lies beneath `runtime`.

        Raises:
            SecurityError: somebody else could look into the folder.
            InputOutputError: the weights or the folder cannot be had.
        """
        try:
            name = options.fingerprint()
        except OSError as error:
            raise InputOutputError(
                f"{options.weights} cannot be read: {error.strerror}. Set embedded.model to a "
                "GGUF file, or leave it unset."
            ) from error
        folder = private_folder(private_folder(runtime) / name)
        if len(os.fsencode(folder / "loading.sock")) > _LONGEST_PATH:
            raise InputOutputError(f"{folder} is too long a path for a socket.")
        return cls(folder, options, idle)

    @property
    def address(self) -> Path:
        """Return the socket at which it is reached while it runs."""
        return self.folder / "ready.sock"

    @contextlib.asynccontextmanager
    async def in_use(self) -> AsyncIterator[str]:
        """Yield the key to a running engine, which stays at least until the end of the block.

        Raises:
            ExecutionError: the engine does not start.
        """
        self._calls += 1
        try:
            await self._hold()
            await self._running()
            yield (self.folder / "key").read_text()
        finally:
            self._calls -= 1
            if not self._calls:
                loop = asyncio.get_running_loop()
                self._leaving = loop.call_later(self.idle, self.leave)

    def leave(self) -> None:
        """Use it no longer; if nobody else does, it ends."""
        if self._leaving:
            self._leaving.cancel()
            self._leaving = None
        if self._users is not None:
            os.close(self._users)
            self._users = None

    async def _hold(self) -> None:
        if self._leaving:
            self._leaving.cancel()
            self._leaving = None
        if self._users is None:
            fd = opened(self.folder / "users")
            try:
                # Only an engine about to end is in the way, and that does not take long.
                async with asyncio.timeout(_LONGEST_END):
                    await waited(fd, fcntl.LOCK_SH)
            except TimeoutError:
                os.close(fd)
                raise TimeLimitError(
                    "An embedded engine that should have ended has not. End it by hand: "
                    "pkill -f junto.providers.embedded.child"
                ) from None
            except BaseException:
                os.close(fd)
                raise
            if self._users is None:
                self._users = fd
            else:
                os.close(fd)  # another call of ours was quicker

    async def _running(self) -> None:
        if self.answers():
            return
        async with alone(self.folder / "start"):
            if not self.answers():
                await self._start()

    def answers(self) -> bool:
        """Return whether it runs already."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(os.fsencode(self.address)) == 0

    async def _start(self) -> None:
        started = time.monotonic()
        with (self.folder / "log").open("wb") as log:
            child = await asyncio.to_thread(_spawned, self.folder, self.options, log.fileno())
        while not self.answers():
            # If somebody started one and died, ours gives way to it, and we wait for that one.
            if child.poll() not in (None, ALREADY_RUNNING):
                raise ExecutionError(f"The embedded engine did not start. {self._said()}".rstrip())
            if time.monotonic() - started > _LONGEST_START:
                child.kill()
                raise TimeLimitError("The embedded engine did not start in time.")
            await asyncio.sleep(_LOOK_AGAIN)
        _log.info("embedded engine started", seconds=round(time.monotonic() - started, 2))

    def _said(self) -> str:
        """Return the engine's last words."""
        lines = (self.folder / "log").read_text("utf-8", "replace").strip().splitlines()
        return " ".join(lines[-3:])[:_TOLD]


def _spawned(folder: Path, options: EngineOptions, log: int) -> "subprocess.Popen[bytes]":
    words = (str(options.weights), str(options.context), str(options.threads))
    # In a session of its own: it serves other processes too, and our Ctrl-C is not its own. With
    # -P, or a module in the working directory could take the place of one of ours.
    child = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", "junto.providers.embedded.child", str(folder), *words],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        start_new_session=True,
    )
    # Somebody has to take note of its end, or it would stay in the process table.
    threading.Thread(target=child.wait, daemon=True, name="engine").start()
    return child
