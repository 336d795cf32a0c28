"""Ranking of search results: rank fusion, text quality, near-duplicates, source trust."""

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from junto.domain.documents import Match
from junto.settings.enums import SourceTrust

# Reciprocal rank fusion: the first match of a ranking counts 1/(K+1), the second 1/(K+2), etc. A
# small K favours the first few matches; this one did best on two public collections.
_RRF_K = 10
_WORD = re.compile(r"\w+")
# Longer than any word in Latin script: data, or minified code.
_MAX_WORD_CHARS = 60
_SHINGLE_WORDS = 4
_MIN_DUPLICATE_SIMILARITY = 0.8
_MAX_COMPARED_WORDS = 400
TRUST_FACTORS = {
    SourceTrust.HIGH: 1.25,
    SourceTrust.NORMAL: 1.0,
    SourceTrust.LOW: 0.6,
    SourceTrust.NONE: 0.0,
}

# The runs of adjacent words in a text.
Shingles = frozenset[tuple[str, ...]]


@dataclass(slots=True)
class RankedDocument:
    """A document found by a search, its fused score, and its best passage."""

    document_key: int
    score: float = 0.0
    passage_key: int = 0
    _best_score: float = 0.0
    _passage_scores: dict[int, float] = field(default_factory=dict)

    def add_match(self, match: Match, score: float, *, is_first: bool) -> None:
        """Add the score of a passage; only the first of each ranking counts for the document."""
        if is_first:
            self.score += score
        passage_score = self._passage_scores[match.key] = (
            self._passage_scores.get(match.key, 0.0) + score
        )
        if passage_score > self._best_score:
            self._best_score, self.passage_key = passage_score, match.key


def fuse_rankings(rankings: Iterable[Sequence[Match]]) -> list[RankedDocument]:
    """Return documents, the best first; one that is first in every ranking scores 1."""
    non_empty = [ranking for ranking in rankings if ranking]
    documents: dict[int, RankedDocument] = {}
    for ranking in non_empty:
        document_ranks: dict[int, int] = {}
        for match in ranking:
            is_first = match.document_key not in document_ranks
            rank = document_ranks.setdefault(match.document_key, len(document_ranks))
            ranked = documents.setdefault(match.document_key, RankedDocument(match.document_key))
            ranked.add_match(match, _score_rank(rank, len(non_empty)), is_first=is_first)
    return sorted(documents.values(), key=lambda ranked: (-ranked.score, ranked.document_key))


def _score_rank(rank: int, ranking_count: int) -> float:
    return (_RRF_K + 1) / (_RRF_K + 1 + rank) / ranking_count


def is_mostly_words(text: str) -> bool:
    """Return whether a passage has words, and mostly consists of them."""
    tokens = _WORD.findall(text)
    words = [word for word in tokens if len(word) <= _MAX_WORD_CHARS or not word.isascii()]
    return sum(map(len, words)) * 4 >= len(text.replace(" ", "")) and any(map(str.isalnum, words))


def build_shingles(text: str) -> Shingles:
    """Return the shingles of a text, by which it is compared with others."""
    words = _WORD.findall(text.casefold())[:_MAX_COMPARED_WORDS]
    shifted = (words[start:] for start in range(1, _SHINGLE_WORDS))
    return frozenset(zip(words, *shifted, strict=False)) or frozenset([tuple(words)])


def is_new(shingles: Shingles, seen: Iterable[Shingles]) -> bool:
    """Return whether a text is not a near-duplicate of any of those already seen."""
    return not any(_is_similar(shingles, other) for other in seen)


def _is_similar(one: Shingles, other: Shingles) -> bool:
    common = len(one & other)
    return common >= _MIN_DUPLICATE_SIMILARITY * (len(one) + len(other) - common)


def resolve_trust(url: str, patterns: Mapping[str, SourceTrust]) -> SourceTrust:
    """Return the trust level of a URL: that of the first matching pattern, or NORMAL."""
    for pattern, level in patterns.items():
        if fnmatch.fnmatchcase(url, pattern):
            return level
    return SourceTrust.NORMAL
