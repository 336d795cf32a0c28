"""Ranking of search results: relevance, text quality, near-duplicates, source trust."""

import fnmatch
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from junto.domain.documents import Match
from junto.settings.enums import SourceTrust

# The weight of the keyword score beside the cosine similarity; did best on public collections.
_KEYWORD_SHARE = 0.2
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that a search may have found, by its best passage.

    `similarity` is the cosine similarity of the passage, or None if it has no vector.
    `keyword_score` is relative to the best keyword match, which has 1.
    """

    document_key: int
    passage_key: int
    similarity: float | None
    keyword_score: float

    def rank(self, coverage: float = 0.0) -> float:
        """Return the value by which candidates are ordered, the highest first.

        `coverage` is the share of the query's words that the passage has, once its text is known.
        """
        if self.similarity is None:
            return _KEYWORD_SHARE * self.keyword_score
        return self.similarity + _KEYWORD_SHARE * (self.keyword_score + coverage)


def merge_matches(
    keyword_matches: Sequence[Match], vector_matches: Sequence[Match], max_matches: int
) -> list[Candidate]:
    """Return the documents of both methods, the best first.

    A vector search returns at most `max_matches`. A passage that is missing from a full result is
    at most as similar as the last one; one that is missing from a shorter result has no vector.
    """
    best_keyword_score = max((match.score for match in keyword_matches), default=0.0)
    keyword_scores = {
        match.key: match.score / best_keyword_score if best_keyword_score > 0 else 0.0
        for match in keyword_matches
    }
    similarities = {match.key: match.score for match in vector_matches}
    is_full = len(vector_matches) >= max_matches
    last_similarity = min(similarities.values()) if is_full else None
    best: dict[int, Candidate] = {}
    for match in (*keyword_matches, *vector_matches):
        candidate = Candidate(
            document_key=match.document_key,
            passage_key=match.key,
            similarity=similarities.get(match.key, last_similarity),
            keyword_score=keyword_scores.get(match.key, 0.0),
        )
        known = best.get(match.document_key)
        if known is None or candidate.rank() > known.rank():
            best[match.document_key] = candidate
    return sorted(best.values(), key=lambda each: (-each.rank(), each.document_key))


def score_relevance(candidate: Candidate, coverage: float) -> float:
    """Return how relevant a passage is, from 0 to 1; off-topic passages score below 0.5.

    `coverage` is the share of the query's words that the passage contains. The weights were fitted
    to public collections: their own queries against queries about other topics and nonsense.
    """
    if candidate.similarity is None:
        logit = 6.0 * coverage + 2.2 * candidate.keyword_score - 4.2
    else:
        both = candidate.rank() + _KEYWORD_SHARE * coverage
        # All words, such as a name or a number, count even if the meaning is far; and the other
        # way round.
        logit = max(11.0 * both - (7.5 if coverage < 1 else 5.5), 14.0 * candidate.similarity - 8.0)
    return 1 / (1 + math.exp(-logit))


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
