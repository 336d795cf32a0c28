"""A progress line on standard error, with rate and remaining time."""

import shutil
import sys
import time
from dataclasses import dataclass, field

import click

from junto.cli.terminal_text import can_rewrite_line, display_width, rewrite_line, sanitize

_TERMINAL_INTERVAL_SECONDS, _PIPE_INTERVAL_SECONDS = 0.1, 10.0
_BAR_COLUMNS = 20
_MIN_COLUMNS_FOR_BAR = 60
_MINUTE_SECONDS, _HOUR_SECONDS = 60, 3600


@dataclass(slots=True)
class Progress:
    """Progress of work on `total` items, whose plural noun is `unit`."""

    verb: str
    unit: str
    total: int | None = None
    is_interactive: bool = field(default_factory=lambda: can_rewrite_line(sys.stderr))
    _started_at: float = field(default_factory=time.monotonic, init=False)
    _last_printed_at: float = field(default=0.0, init=False)

    def update(self, done: int, name: str = "") -> None:
        """Show the number of finished items, at most once per interval."""
        now = time.monotonic()
        if now - max(self._last_printed_at, self._started_at) >= (
            _TERMINAL_INTERVAL_SECONDS if self.is_interactive else _PIPE_INTERVAL_SECONDS
        ):
            self._last_printed_at = now
            self._print(self.format_line(done, now - self._started_at, name))

    def clear(self) -> None:
        """Clear the progress line."""
        if self.is_interactive and self._last_printed_at:
            rewrite_line("")

    def format_line(
        self, done: int, seconds: float, name: str = "", width: int | None = None
    ) -> str:
        """Return the progress line, cut to `width` columns; a long `name` loses its beginning."""
        width = width or shutil.get_terminal_size().columns
        rate = done / seconds if seconds else 0.0
        if self.total:
            share = min(1.0, done / self.total)
            filled = round(share * _BAR_COLUMNS)
            bar = (
                f" {'█' * filled}{'░' * (_BAR_COLUMNS - filled)}"
                if width >= _MIN_COLUMNS_FOR_BAR
                else ""
            )
            count = f"{bar} {done:,}/{self.total:,} {self.unit}"
            left = (
                f", {_format_duration((self.total - done) / rate)} left"
                if rate and share < 1
                else ""
            )
        else:
            count, left = f" {done:,} {self.unit}", ""
        text = f"{self.verb}{count}, {rate:,.0f}/s{left}" if done else f"{self.verb}{count}"
        name_columns = width - len(text) - 3
        if not name or name_columns <= _BAR_COLUMNS:
            return text[: width - 1]
        shown_name = sanitize(name.replace("\n", " "))
        while display_width(shown_name) > name_columns:
            shown_name = shown_name[1:]
        return f"{text}  {shown_name}"

    def _print(self, text: str) -> None:
        if self.is_interactive:
            rewrite_line(text)
        else:
            click.echo(text, err=True)


def _format_duration(seconds: float) -> str:
    if seconds < _MINUTE_SECONDS:
        return f"{seconds:.0f} s"
    if seconds < _HOUR_SECONDS:
        return f"{seconds / _MINUTE_SECONDS:.0f} min"
    return f"{seconds / _HOUR_SECONDS:.1f} h"
