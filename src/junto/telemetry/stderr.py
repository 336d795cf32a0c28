"""Writing to standard error without ever waiting for whoever reads it."""

import contextlib
import logging
import os
import queue
import select
import threading

from typing_extensions import override

_LINES = 1000
# A pipe with any room at all has room for this much (POSIX: PIPE_BUF is at least 512).
_ALWAYS_FITS = getattr(select, "PIPE_BUF", 512)
_FAREWELL_SECONDS = 1.0


class StderrHandler(logging.Handler):
    """Write lines where there is room for them at once, and hand the others to a thread.

    A client that starts a server and never reads its standard error fills the pipe; a server that
    wrote to it regardless would then stand still. Here a thread waits, and further lines are lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[bytes | None] = queue.Queue(_LINES)
        self._writer: threading.Thread | None = None

    @override
    def emit(self, record: logging.LogRecord) -> None:
        # Whatever goes wrong here, a formatter's bug included, costs this line and no call.
        with contextlib.suppress(Exception):
            line = self.format(record).encode("utf-8", "replace") + b"\n"
            if self._writer is None and len(line) <= _ALWAYS_FITS and _has_room():
                os.write(2, line)
            else:
                self._hand_over(line)

    @override
    def close(self) -> None:
        if self._writer:
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait(None)
            self._writer.join(_FAREWELL_SECONDS)
        super().close()

    def _hand_over(self, line: bytes) -> None:
        self._lines.put_nowait(line)
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="junto-stderr", daemon=True)
            self._writer.start()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError):
                while line:
                    line = line[os.write(2, line) :]


def _has_room() -> bool:
    """Tell whether a short line can be written now without waiting."""
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(0))
