"""Whether a server that shares our folder is alive: a lock that the kernel lets go of with it."""

import contextlib
import fcntl
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from junto.domain.errors import JuntoError
from junto.security.folders import private_folder
from junto.security.locks import opened, taken
from junto.telemetry.logs import Log

_log = Log.of("jobs")

# A sign as young as this may belong to a server that is about to take its lock.
_FRESH = 60.0


@dataclass(eq=False, slots=True)
class Presence:
    """Shows in `folder` that this server is alive, and tells which others are."""

    folder: Path
    server: str
    _held: int | None = field(default=None, init=False)

    def show(self) -> None:
        """Be seen from now on; where no file can be made, only the store tells of us."""
        if self._held is not None:
            return
        try:
            self._held = opened(private_folder(self.folder) / self.server)
            taken(self._held, fcntl.LOCK_EX)
        except (OSError, JuntoError) as error:
            _log.warning("no sign of life can be left", folder=str(self.folder), reason=str(error))

    def hide(self) -> None:
        """Take the sign away, once nothing is left that could be lost."""
        if self._held is not None:
            self.forget(self.server)
            os.close(self._held)
            self._held = None

    def of(self, server: str) -> bool | None:
        """Tell whether another server is alive, or None if it leaves no sign here."""
        if not server.isalnum():  # it comes from the store, and should lead nowhere else
            return None
        try:
            fd = os.open(self.folder / server, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return not taken(fd, fcntl.LOCK_EX)
        finally:
            os.close(fd)

    def tidy(self) -> None:
        """Remove the signs of servers that are gone."""
        with contextlib.suppress(OSError):
            old = time.time() - _FRESH
            signs = [sign for sign in self.folder.iterdir() if sign.stat().st_mtime < old]
            for sign in signs:
                if self.of(sign.name) is False:
                    self.forget(sign.name)

    def forget(self, server: str) -> None:
        """Remove the sign of a server that is gone."""
        with contextlib.suppress(OSError):
            (self.folder / server).unlink()
