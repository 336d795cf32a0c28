"""Whether a server that shares our folder is alive: a lock that the kernel lets go of with it."""

import contextlib
import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path

from junto.domain.errors import JuntoError
from junto.security.folders import private_folder
from junto.security.locks import opened, taken
from junto.telemetry.logs import Log

_log = Log.of("jobs")


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
        except (OSError, JuntoError) as error:
            _log.warning("no sign of life can be left", folder=str(self.folder), reason=str(error))
        else:
            taken(self._held, fcntl.LOCK_EX)

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

    def forget(self, server: str) -> None:
        """Remove the sign of a server that is gone."""
        with contextlib.suppress(OSError):
            (self.folder / server).unlink()
