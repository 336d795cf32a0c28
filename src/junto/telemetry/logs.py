"""Structured log lines: written through `logging`, redacted once, rendered by structlog.

Every line of ours and of the libraries takes the same way: a `logging` record, one formatter that
adds time and trace and takes secrets out, then the sinks. A sink that fails loses its line and
nothing else.
"""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from junto.security.folders import made_privately
from junto.security.secrets import Redactor
from junto.telemetry.files import SharedFileHandler
from junto.telemetry.stderr import StderrHandler
from junto.telemetry.traces import current_trace

if TYPE_CHECKING:
    from structlog.typing import Processor

ROOT = "junto"
# What goes into files of these names is kept down to the last detail.
_DETAILED = ("reasoning", "tools")


@dataclass(frozen=True, slots=True)
class Log:
    """A logger that takes facts as keywords: `log.info("tool called", tool="chat")`."""

    logger: logging.Logger

    @classmethod
    def of(cls, room: str) -> "Log":
        """Return the log of one room: `junto.transport`, `junto.audit`."""
        return cls(logging.getLogger(f"{ROOT}.{room}"))

    @property
    def wanted(self) -> bool:
        """Return whether anybody would see an ordinary line of this log."""
        return self.logger.isEnabledFor(logging.INFO)

    @property
    def detailed(self) -> bool:
        """Return whether anybody would see a detail in this log."""
        return self.logger.isEnabledFor(logging.DEBUG)

    def debug(self, event: str, **facts: Any) -> None:
        """Note a detail for whoever looks for a fault."""
        self._write(logging.DEBUG, event, facts)

    def info(self, event: str, **facts: Any) -> None:
        """Note what happened."""
        self._write(logging.INFO, event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        """Note what an operator should look at."""
        self._write(logging.WARNING, event, facts)

    def crash(self, event: str, error: BaseException, **facts: Any) -> None:
        """Note a failure that nobody foresaw, with its traceback."""
        self._write(logging.ERROR, event, facts, error)

    def _write(
        self, level: int, event: str, facts: dict[str, Any], error: BaseException | None = None
    ) -> None:
        if self.logger.isEnabledFor(level):
            # Made here, because `Logger.log` would first walk the stack to find this very line.
            exc_info = (type(error), error, error.__traceback__) if error else None
            record = logging.LogRecord(self.logger.name, level, "", 0, event, (), exc_info)
            record.facts = facts
            self.logger.handle(record)


@dataclass(frozen=True, slots=True)
class Sinks:
    """Where lines go: standard error, a folder of files, both or neither."""

    level: str
    stderr: bool = True
    directory: Path | None = None


@contextmanager
def logging_to(sinks: Sinks, redactor: Redactor) -> Iterator[None]:
    """Send all log lines to `sinks` until the end of the block."""
    level = logging.getLevelNamesMapping()[sinks.level.upper()]
    # With no handler at all, `logging` would write to standard error itself, secrets and all.
    handlers = [logging.NullHandler(), *_handlers(sinks, redactor, level)]
    root, ours = logging.getLogger(), logging.getLogger(ROOT)
    detailed = [logging.getLogger(f"{ROOT}.{name}") for name in _DETAILED if sinks.directory]
    before = (root.level, ours.level, logging.raiseExceptions)
    # Libraries speak up only about trouble, unless somebody is looking for a fault.
    root.setLevel(level if level <= logging.DEBUG else max(level, logging.WARNING))
    ours.setLevel(min(level, logging.INFO) if sinks.directory else level)
    for logger in detailed:
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
        root.setLevel(before[0])
        ours.setLevel(before[1])
        for logger in detailed:
            logger.setLevel(logging.NOTSET)
        logging.raiseExceptions = before[2]


def _handlers(sinks: Sinks, redactor: Redactor, level: int) -> Iterator[logging.Handler]:
    if sinks.directory:
        try:
            yield from _files(sinks.directory, redactor, level)
        except OSError as error:
            print(  # noqa: T201 - there is no log yet to say it in
                f"junto: no log files in {sinks.directory}: {error.strerror}", file=sys.stderr
            )
    if sinks.stderr:
        handler = StderrHandler()
        handler.setLevel(level)
        handler.setFormatter(_Rendered(redactor, people=bool(sys.stderr) and sys.stderr.isatty()))
        yield handler


def _files(directory: Path, redactor: Redactor, level: int) -> Iterator[logging.Handler]:
    made_privately(directory)
    for name, least in (
        ("general", level),
        *((name, logging.DEBUG) for name in _DETAILED),
        ("audit", logging.INFO),
    ):
        handler = SharedFileHandler(directory / f"{name}.log")
        handler.setLevel(least)
        handler.setFormatter(_Rendered(redactor, people=False))
        if name != "general":
            handler.addFilter(logging.Filter(f"{ROOT}.{name}"))
        yield handler


class _Rendered(logging.Formatter):
    """Render a record as one line: JSON for programs, columns for people."""

    def __init__(self, redactor: Redactor, *, people: bool) -> None:
        super().__init__()
        self._redactor = redactor
        self._people = people
        self._chain: list[Processor] = []

    @override
    def format(self, record: logging.LogRecord) -> str:
        # structlog is imported with the first line: most stdio servers never write one.
        self._chain = self._chain or _chain(self._redactor, people=self._people)
        event: Any = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"trace": trace} if (trace := current_trace()) else {}),
            **getattr(record, "facts", {}),
            **({"exc_info": record.exc_info} if record.exc_info else {}),
        }
        for processor in self._chain:
            event = processor(None, record.levelname.lower(), event)
        return str(event)


def _chain(redactor: Redactor, *, people: bool) -> "list[Processor]":
    from structlog import dev, processors  # see above

    def redacted(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
        return redactor.facts(event)

    chain: list[Processor] = [
        processors.TimeStamper(fmt="iso", utc=True),
        processors.format_exc_info,
        redacted,
    ]
    if not people:
        return [*chain, processors.JSONRenderer(default=repr)]
    return [*chain, _tamed, dev.ConsoleRenderer(exception_formatter=dev.plain_traceback)]


def _tamed(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """Write out control characters, with which a caller could forge lines or steer a terminal."""
    return {
        name: value.encode("unicode_escape").decode()
        if isinstance(value, str) and name != "exception"
        else value
        for name, value in event.items()
    }
