"""One line on standard error that tells how far long work is, how fast, and how long it takes."""

import shutil
import sys
import time
from dataclasses import dataclass, field

import click

from junto.cli.writing import harmless, rewrite, rewrites
from junto.cli.writing import width as columns

_EVERY, _EVERY_IN_A_PIPE = 0.1, 10.0
_BAR = 20
_NARROW = 60
_MINUTE, _HOUR = 60, 3600


@dataclass(slots=True)
class Progress:
    """Tells of work that consists of `total` things called `unit`."""

    verb: str
    unit: str
    total: int | None = None
    person: bool = field(default_factory=lambda: rewrites(sys.stderr))
    _begun: float = field(default_factory=time.monotonic, init=False)
    _told: float = field(default=0.0, init=False)

    def shows(self, done: int, name: str = "") -> None:
        """Show that so many are done, unless that was shown a moment ago."""
        now = time.monotonic()
        if now - max(self._told, self._begun) >= (_EVERY if self.person else _EVERY_IN_A_PIPE):
            self._told = now
            self._writes(self.line(done, now - self._begun, name))

    def ends(self) -> None:
        """Leave the line as it was before."""
        if self.person and self._told:
            rewrite("")

    def line(self, done: int, seconds: float, name: str = "", width: int | None = None) -> str:
        """Return the line; what does not fit is left out from its end."""
        width = width or shutil.get_terminal_size().columns
        rate = done / seconds if seconds else 0.0
        if self.total:
            share = min(1.0, done / self.total)
            filled = round(share * _BAR)
            bar = f" {'█' * filled}{'░' * (_BAR - filled)}" if width >= _NARROW else ""
            count = f"{bar} {done:,}/{self.total:,} {self.unit}"
            left = f", {_time((self.total - done) / rate)} left" if rate and share < 1 else ""
        else:
            count, left = f" {done:,} {self.unit}", ""
        text = f"{self.verb}{count}, {rate:,.0f}/s{left}" if done else f"{self.verb}{count}"
        room = width - len(text) - 3
        if not name or room <= _BAR:
            return text[: width - 1]
        shown = harmless(name.replace("\n", " "))
        while columns(shown) > room:
            shown = shown[1:]
        return f"{text}  {shown}"

    def _writes(self, text: str) -> None:
        if self.person:
            rewrite(text)
        else:
            click.echo(text, err=True)


def _time(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"
