"""Several orders of what was found, joined into one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from junto.domain.documents import Match

# What stands first by one measure counts 1/(K+1), second 1/(K+2), and so on. A small number, so
# that the first few count for much more than the rest: the best on two public collections.
_K = 10


@dataclass(slots=True)
class Ranked:
    """A document that was found, how well it fits by all measures, and its best passage."""

    document: int
    score: float = 0.0
    passage: int = 0
    _best: float = 0.0
    _passages: dict[int, float] = field(default_factory=dict)

    def counts(self, match: Match, share: float, *, first: bool) -> None:
        """Take note of a passage; only the first of each order counts for the document."""
        if first:
            self.score += share
        here = self._passages[match.key] = self._passages.get(match.key, 0.0) + share
        if here > self._best:
            self._best, self.passage = here, match.key


def joined(orders: Iterable[Sequence[Match]]) -> list[Ranked]:
    """Return documents, the best first; a score is 1 for what is first by every measure."""
    measures = [order for order in orders if order]
    found: dict[int, Ranked] = {}
    for order in measures:
        seen: dict[int, int] = {}
        for match in order:
            first = match.document not in seen
            rank = seen.setdefault(match.document, len(seen))
            ranked = found.setdefault(match.document, Ranked(match.document))
            ranked.counts(match, _share(rank, len(measures)), first=first)
    return sorted(found.values(), key=lambda ranked: (-ranked.score, ranked.document))


def _share(rank: int, measures: int) -> float:
    return (_K + 1) / (_K + 1 + rank) / measures
