"""Starting and stopping the background server, one at a time, whoever wants it."""

import contextlib
import http.client
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from junto.domain.errors import ExecutionError, InputOutputError
from junto.security.folders import made_privately
from junto.security.locks import alone_in_thread
from junto.telemetry.files import set_aside
from junto.telemetry.redirected import FLAGS
from junto.work.background import Place, Server

_START_SECONDS = 60.0
# A server that has let its calls finish still closes its files and stops its jobs.
_FAREWELL_SECONDS = 15.0
_LOOK_AGAIN = 0.02
_HEALTH_SECONDS = 5.0
_LAST_WORDS = 2000


@dataclass(frozen=True, slots=True)
class Launcher:
    """Knows how a background server is started, and where its words go."""

    place: Place
    command: tuple[str, ...]
    log: Path
    # Those that were started here and may have ended: nobody else takes note of that.
    _children: list[int] = field(default_factory=list, init=False)

    def start(self) -> tuple[Server, bool]:
        """Return the server that answers, and whether it had to be started.

        Raises:
            ExecutionError: it ended instead of answering; the message has its last words.
        """
        with alone_in_thread(self.place.starting):
            return self._started()

    def stop(self) -> Server | None:
        """End the server and return what it was, or None if there was none.

        Raises:
            ExecutionError: it cannot be ended from here, or has not ended in time.
        """
        with alone_in_thread(self.place.starting):
            return self._stopped()

    def restart(self) -> tuple[Server | None, Server]:
        """Do both, with nobody in between; return the one before and the one after."""
        with alone_in_thread(self.place.starting):
            return self._stopped(), self._started()[0]

    def _started(self) -> tuple[Server, bool]:
        end = time.monotonic() + _START_SECONDS
        while (sight := self.place.look()).there:  # it may be about to begin, or to end
            if sight.server and answers(sight.server):
                return sight.server, False
            if time.monotonic() > end:
                raise ExecutionError(
                    "A background server holds its lock and does not answer. "
                    f"Look into {self.log}, or end it with `junto stop`."
                )
            time.sleep(_LOOK_AGAIN)
        return self._launched(), True

    def _launched(self) -> Server:
        self._children[:] = [pid for pid in self._children if not _is_over(pid)]
        spoken = _ready(self.log)
        pid = _spawned(self.command, self.log)
        self._children.append(pid)
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            server = self.place.look().server
            if server and server.pid == pid and answers(server):
                return server
            if _is_over(pid):
                self._children.remove(pid)
                words = _words_since(self.log, spoken)
                raise ExecutionError(f"The background server did not start. {words}".strip())
            time.sleep(_LOOK_AGAIN)
        raise ExecutionError(
            f"The background server (pid {pid}) does not answer yet. Look into {self.log}."
        )

    def _stopped(self) -> Server | None:
        sight = self.place.look()
        if not sight.there:
            return None
        server = sight.server
        if server is None or not self.place.end(server):
            if not self.place.look().there:
                return server  # it has ended by itself
            raise ExecutionError(
                "A background server runs, but which process it is cannot be told from here, so "
                f"none was touched. Try again in a moment, or end it by hand; see {self.log}."
            )
        return self._awaited(server)

    def _awaited(self, server: Server) -> Server:
        seconds = server.drain + _FAREWELL_SECONDS
        end = time.monotonic() + seconds
        while self.place.look().there:
            if time.monotonic() > end:
                raise ExecutionError(
                    f"The background server (pid {server.pid}) was asked to end {seconds:.0f} "
                    f"seconds ago and still runs. Look into {server.log}."
                )
            time.sleep(_LOOK_AGAIN)
        return server


def answers(server: Server) -> bool:
    """Tell whether a server says that it is well."""
    return health_at(server.url)


def health_at(url: str, seconds: float = _HEALTH_SECONDS) -> bool:
    """Tell whether a Junto answers at `url`."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=seconds)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/health")
            reply = connection.getresponse()
            return reply.status == http.client.OK and b'"status":"ok"' in reply.read(1000)
        except (OSError, http.client.HTTPException):
            return False


def _ready(log: Path) -> int:
    """Make room for words, and return how many bytes are there already."""
    try:
        made_privately(log.parent)
        with contextlib.suppress(FileNotFoundError):
            set_aside(log)
        return log.stat().st_size if log.exists() else 0
    except OSError as error:
        raise InputOutputError(f"{log} cannot be written: {error.strerror}.") from error


def _spawned(command: tuple[str, ...], log: Path) -> int:
    """Start a process that outlives us: its own session, no input, its words in a file."""
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), FLAGS, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def _is_over(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # somebody else has waited for it
        return True


def _words_since(log: Path, start: int) -> str:
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(start)
        return file.read()[-_LAST_WORDS:].decode(errors="replace").strip()
    return ""
