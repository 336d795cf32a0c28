"""What was done with the files, for whoever watches and for the end."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

# Whoever has more problems than this has one problem.
_MOST_PROBLEMS = 1000


@dataclass(slots=True)
class Report:
    """What was done so far."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    size: int = 0  # in bytes
    # What was left out, by reason.
    skipped: Counter[str] = field(default_factory=Counter)
    # What could not be read, and why.
    problems: list[tuple[str, str]] = field(default_factory=list)
    failed: int = 0
    # How many of those that were left out were looked at first.
    _looked_at: int = 0

    @property
    def done(self) -> int:
        """Return how many files were looked at."""
        return self.added + self.changed + self.unchanged + self.failed + self._looked_at

    def leaves_out(self, reason: str) -> None:
        """Take note of something that was looked at and is nothing to be read."""
        self.skipped[reason] += 1
        self._looked_at += 1

    def fails(self, name: str, reason: str) -> None:
        """Take note of something that could not be read."""
        self.failed += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append((name, reason))


# Told after every file: its name, and the report so far.
Told = Callable[[str, Report], None]
