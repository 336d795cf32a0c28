"""Structured logging: written through `logging`, redacted once, rendered by structlog.

Log lines of Junto and of libraries take the same path: a `logging` record, one formatter that adds
the time and trace id and redacts secrets, then the handlers. A handler that fails loses only its
line.
"""

import contextlib
import logging
import os
import queue
import select
import sys
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from junto.security.private_dirs import make_private_dirs
from junto.security.redaction import Redactor
from junto.telemetry.log_files import SharedFileHandler
from junto.telemetry.trace_context import get_trace_id

if TYPE_CHECKING:
    from structlog.typing import Processor

ROOT_LOGGER = "junto"
# Loggers with a log file of their own that includes debug lines.
_DEBUG_LOGGERS = ("reasoning", "tools")
_MAX_QUEUED_LINES = 1000
# A pipe that polls as writable accepts this many bytes without blocking (POSIX requires at least
# 512).
_ATOMIC_WRITE_BYTES = getattr(select, "PIPE_BUF", 512)
_FLUSH_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Log:
    """A logger that takes fields as keywords: `log.info("tool called", tool="chat")`."""

    logger: logging.Logger

    @classmethod
    def get(cls, name: str) -> "Log":
        """Return the logger of one area, such as `junto.transport` or `junto.audit`."""
        return cls(logging.getLogger(f"{ROOT_LOGGER}.{name}"))

    @property
    def is_info_enabled(self) -> bool:
        """Return whether info lines are written."""
        return self.logger.isEnabledFor(logging.INFO)

    @property
    def is_debug_enabled(self) -> bool:
        """Return whether debug lines are written."""
        return self.logger.isEnabledFor(logging.DEBUG)

    def debug(self, event: str, **fields: Any) -> None:
        """Log a detail for debugging."""
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Log a normal event."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Log an event that an operator should look at."""
        self._write(logging.WARNING, event, fields)

    def exception(self, event: str, error: BaseException, **fields: Any) -> None:
        """Log an unexpected error with its traceback."""
        self._write(logging.ERROR, event, fields, error)

    def _write(
        self, level: int, event: str, fields: dict[str, Any], error: BaseException | None = None
    ) -> None:
        if self.logger.isEnabledFor(level):
            # Built directly, because `Logger.log` would walk the stack to find the caller.
            exc_info = (type(error), error, error.__traceback__) if error else None
            record = logging.LogRecord(self.logger.name, level, "", 0, event, (), exc_info)
            record.fields = fields
            self.logger.handle(record)


@dataclass(frozen=True, slots=True)
class LogSinks:
    """Where log lines go: standard error, a directory of files, both or neither."""

    level: str
    stderr: bool = True
    directory: Path | None = None


@contextmanager
def configure_logging(sinks: LogSinks, redactor: Redactor) -> Iterator[None]:
    """Send all log lines to `sinks` until the end of the block."""
    level = logging.getLevelNamesMapping()[sinks.level.upper()]
    # Without any handler, `logging` would write unredacted lines to standard error.
    handlers = [logging.NullHandler(), *_build_handlers(sinks, redactor, level)]
    root, junto_logger = logging.getLogger(), logging.getLogger(ROOT_LOGGER)
    debug_loggers = [
        logging.getLogger(f"{ROOT_LOGGER}.{name}") for name in _DEBUG_LOGGERS if sinks.directory
    ]
    previous = (root.level, junto_logger.level, logging.raiseExceptions)
    # Libraries log only warnings and errors, unless the level is debug.
    root.setLevel(level if level <= logging.DEBUG else max(level, logging.WARNING))
    junto_logger.setLevel(min(level, logging.INFO) if sinks.directory else level)
    for logger in debug_loggers:
        logger.setLevel(logging.DEBUG)
    logging.raiseExceptions = False
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        root.setLevel(previous[0])
        junto_logger.setLevel(previous[1])
        for logger in debug_loggers:
            logger.setLevel(logging.NOTSET)
        logging.raiseExceptions = previous[2]


def _build_handlers(sinks: LogSinks, redactor: Redactor, level: int) -> Iterator[logging.Handler]:
    if sinks.directory:
        try:
            yield from _build_file_handlers(sinks.directory, redactor, level)
        except OSError as error:
            print(  # noqa: T201 - logging is not configured yet
                f"junto: no log files in {sinks.directory}: {error.strerror}", file=sys.stderr
            )
    if sinks.stderr:
        handler = StderrHandler()
        handler.setLevel(level)
        handler.setFormatter(
            _LineFormatter(redactor, for_terminal=bool(sys.stderr) and sys.stderr.isatty())
        )
        yield handler


def _build_file_handlers(
    directory: Path, redactor: Redactor, level: int
) -> Iterator[logging.Handler]:
    make_private_dirs(directory)
    for name, min_level in (
        ("general", level),
        *((name, logging.DEBUG) for name in _DEBUG_LOGGERS),
        ("audit", logging.INFO),
    ):
        handler = SharedFileHandler(directory / f"{name}.log")
        handler.setLevel(min_level)
        handler.setFormatter(_LineFormatter(redactor, for_terminal=False))
        if name != "general":
            handler.addFilter(logging.Filter(f"{ROOT_LOGGER}.{name}"))
        yield handler


class _LineFormatter(logging.Formatter):
    """A formatter for one line per record: JSON for files and pipes, columns for terminals."""

    def __init__(self, redactor: Redactor, *, for_terminal: bool) -> None:
        super().__init__()
        self._redactor = redactor
        self._for_terminal = for_terminal
        self._processors: list[Processor] = []

    @override
    def format(self, record: logging.LogRecord) -> str:
        # structlog is imported with the first line, because most stdio servers never log one.
        self._processors = self._processors or _build_processors(
            self._redactor, for_terminal=self._for_terminal
        )
        event: Any = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"trace": trace} if (trace := get_trace_id()) else {}),
            **getattr(record, "fields", {}),
            **({"exc_info": record.exc_info} if record.exc_info else {}),
        }
        for processor in self._processors:
            event = processor(None, record.levelname.lower(), event)
        return str(event)


def _build_processors(redactor: Redactor, *, for_terminal: bool) -> "list[Processor]":
    from structlog import dev, processors  # deferred: see `format`

    def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
        return redactor.redact_fields(event)

    chain: list[Processor] = [
        processors.TimeStamper(fmt="iso", utc=True),
        processors.format_exc_info,
        redact,
    ]
    if not for_terminal:
        return [*chain, processors.JSONRenderer(default=repr)]
    return [
        *chain,
        _escape_control_chars,
        dev.ConsoleRenderer(exception_formatter=dev.plain_traceback),
    ]


def _escape_control_chars(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> dict[str, Any]:
    """Escape control characters, which could forge lines or control the terminal."""
    return {
        name: value.encode("unicode_escape").decode()
        if isinstance(value, str) and name != "exception"
        else value
        for name, value in event.items()
    }


class StderrHandler(logging.Handler):
    """A handler that writes to standard error without ever blocking the caller.

    If a client never reads the server's standard error, the pipe fills up and a plain write would
    block the server. Lines that cannot be written at once go to a thread through a bounded queue;
    when the queue is full, further lines are dropped.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MAX_QUEUED_LINES)
        self._writer: threading.Thread | None = None

    @override
    def emit(self, record: logging.LogRecord) -> None:
        # A failure here, even in a formatter, must lose only this line, not fail the caller.
        with contextlib.suppress(Exception):
            line = self.format(record).encode("utf-8", "replace") + b"\n"
            if self._writer is None and len(line) <= _ATOMIC_WRITE_BYTES and _has_room():
                os.write(2, line)
            else:
                self._enqueue(line)

    @override
    def close(self) -> None:
        if self._writer:
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait(None)
            self._writer.join(_FLUSH_TIMEOUT_SECONDS)
        super().close()

    def _enqueue(self, line: bytes) -> None:
        self._lines.put_nowait(line)
        if self._writer is None:
            self._writer = threading.Thread(
                target=self._write_queued_lines, name="junto-stderr", daemon=True
            )
            self._writer.start()

    def _write_queued_lines(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError):
                while line:
                    line = line[os.write(2, line) :]


def _has_room() -> bool:
    """Return whether a short line can be written to standard error without blocking."""
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(0))
