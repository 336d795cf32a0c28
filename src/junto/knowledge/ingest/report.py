"""The report of an indexing run, during the run and at its end."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

# More problems than this usually have a single cause.
_MAX_PROBLEMS = 1000


@dataclass(slots=True)
class IndexReport:
    """The counts and problems of an indexing run so far."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    bytes_read: int = 0
    # Number of files that were skipped, by reason.
    skipped: Counter[str] = field(default_factory=Counter)
    # Files that could not be read, and why.
    problems: list[tuple[str, str]] = field(default_factory=list)
    failed: int = 0
    # Number of files that were skipped after they had been read.
    _skipped_after_read: int = 0

    @property
    def file_count(self) -> int:
        """The number of files processed."""
        return self.added + self.changed + self.unchanged + self.failed + self._skipped_after_read

    def add_skipped(self, reason: str) -> None:
        """Record a file that was read, and then skipped."""
        self.skipped[reason] += 1
        self._skipped_after_read += 1

    def add_failure(self, name: str, reason: str) -> None:
        """Record a file that could not be read."""
        self.failed += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append((name, reason))


# Called after every file with its name and the report so far.
OnProgress = Callable[[str, IndexReport], None]
