"""The one background server of a state folder: a lock that it holds, and what it says of itself.

The lock is the proof: the kernel lets go of it with the process, however that ends. The file beside
it says how to reach whoever holds the lock, and means nothing when nobody does.
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
from junto.security.folders import private_folder
from junto.security.locks import opened, taken

# Whoever looks holds the lock for a moment; a server that begins just then tries again.
_TRIES, _BETWEEN = 100, 0.02

_KINDS = {"pid": int, "since": float, "drain": int | float, "url": str, "flags": dict}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A background server, in its own words."""

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
class Sight:
    """What is seen from outside: whether there is one, and what it says, once it says something."""

    there: bool
    server: Server | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The folder in which background servers find each other."""

    folder: Path

    @property
    def starting(self) -> Path:
        """Return the lock of whoever starts or stops a server."""
        return private_folder(self.folder) / "start.lock"

    @property
    def _lock(self) -> Path:
        return private_folder(self.folder) / "server.lock"

    @property
    def _words(self) -> Path:
        return self.folder / "server.json"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Be the background server until the end of the block.

        Raises:
            ExecutionError: there is one already.
        """
        fd = opened(self._lock)
        try:
            if not _patiently(fd):
                raise ExecutionError("A background server runs already: see `junto status`.")
            self._words.unlink(missing_ok=True)
            yield
            self._words.unlink(missing_ok=True)
        finally:
            os.close(fd)

    def tell(self, server: Server) -> None:
        """Say how to reach the server that holds the lock; nobody sees half of it."""
        draft = self._words.with_suffix(f".{server.pid}")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(asdict(server), file)
        draft.replace(self._words)

    def look(self) -> Sight:
        """Return what is there now."""
        fd = opened(self._lock)
        try:
            if taken(fd, fcntl.LOCK_SH):
                return Sight(there=False)
        finally:
            os.close(fd)
        try:
            return Sight(there=True, server=_understood(self._words.read_text("utf-8")))
        except (OSError, ValueError, TypeError, AttributeError):
            return Sight(there=True)

    def end(self, server: Server) -> bool:
        """Ask exactly this server to end; return False if its process cannot be told for sure.

        A number alone may have gone to another process meanwhile. On Linux the process is first
        held by a descriptor and then recognised by when it began; elsewhere the lock must do.
        """
        with contextlib.ExitStack() as stack:
            handle = None
            try:
                if hasattr(os, "pidfd_open"):
                    handle = os.pidfd_open(server.pid)
                    stack.callback(os.close, handle)
                if self.look().server != server or born(server.pid) != server.born:
                    return False
                if handle is None:
                    os.kill(server.pid, signal.SIGTERM)
                else:
                    signal.pidfd_send_signal(handle, signal.SIGTERM)
            except (OSError, OverflowError):
                return False
        return True


def _understood(words: str) -> Server:
    """Return what a server says of itself.

    Raises:
        ValueError, TypeError, AttributeError: it says something else.
    """
    said: Any = json.loads(words)
    # One of a later version may say more; it must be possible to stop it all the same.
    names = {field.name for field in fields(Server)}
    server = Server(**{name: fact for name, fact in said.items() if name in names})
    if not all(isinstance(said[name], kind) for name, kind in _KINDS.items()) or server.pid <= 0:
        raise TypeError(words)  # a number below 1 would stand for a group of processes
    return server


def _patiently(fd: int) -> bool:
    for _ in range(_TRIES):
        if taken(fd, fcntl.LOCK_EX):
            return True
        time.sleep(_BETWEEN)
    return False


def born(pid: int) -> str:
    """Return when a process began, in the kernel's own count, or nothing where it tells nobody."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
