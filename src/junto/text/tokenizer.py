"""Normalisation of texts and queries for keyword search, identical for every database."""

import itertools
import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

# Scripts without spaces between words: each character is a word, and a run of them a phrase.
_DENSE_SCRIPT_RANGES = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0e7f"
)
_TOKEN_PATTERN = re.compile(rf"[{_DENSE_SCRIPT_RANGES}]+|[^\W{_DENSE_SCRIPT_RANGES}]+", re.UNICODE)
_DENSE_CHAR_PATTERN = re.compile(rf"([{_DENSE_SCRIPT_RANGES}])")
_SEPARATOR_PATTERN = re.compile(r"[\W_]+")
_ACCENT_PATTERN = re.compile("[\u0300-\u036f]+")
_MAX_TOKENS, _MAX_PHRASE_TOKENS = 32, 16
_MAX_SNIPPET_MATCHES = 200
_MIN_STEM_CHARS = 3
_SUFFIXES = "ies|es|s|ed|ing|ly|y"
_STOP_WORDS_TEXT = """
a an and are as at be but by can did do does for from had has have how i if in is it its me my no
not of on or our so that the their them then there these they this to was we were what when where
which who why will with would you your
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())


def split_dense_scripts(text: str) -> str:
    """Return `text` with spaces around the characters of scripts written without spaces."""
    return _DENSE_CHAR_PATTERN.sub(r" \1 ", text)


def normalize_words(text: str) -> str:
    """Return the words of a text in lower case, without accents, separated by single spaces.

    Databases that recognise URLs, paths and hyphens would otherwise index several words as one.
    """
    folded = text.casefold()
    if not folded.isascii():
        bare = _ACCENT_PATTERN.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", bare)
    return _SEPARATOR_PATTERN.sub(" ", folded).strip()


def extract_phrases(query: str) -> tuple[str, ...]:
    """Return the search terms of a query, without stop words unless there is nothing else.

    The words of a term, separated by spaces, must be adjacent in the text.
    """
    tokens = list(dict.fromkeys(_iter_tokens(query)))[:_MAX_TOKENS]
    significant = [token for token in tokens if token not in _STOP_WORDS]
    return tuple(significant or tokens)


def _iter_tokens(query: str) -> Iterator[str]:
    for match in _TOKEN_PATTERN.finditer(query.casefold()):
        yield " ".join(split_dense_scripts(match[0]).split()[:_MAX_PHRASE_TOKENS])


def measure_coverage(text: str, phrases: tuple[str, ...]) -> float:
    """Return the share of the phrases that occur in `text`, in any inflected form."""
    if not phrases:
        return 0.0
    words = normalize_words(text)
    dense = [phrase for phrase in phrases if _DENSE_CHAR_PATTERN.search(phrase)]
    stems = {_stem(phrase) for phrase in phrases if phrase not in dense}
    found = {match[1] for match in _compile_words_pattern(frozenset(stems)).finditer(words)}
    joined = words.replace(" ", "") if dense else ""
    dense_found = sum(phrase.replace(" ", "") in joined for phrase in dense)
    return (len(found) + dense_found) / (len(stems) + len(dense))


def extract_snippet(text: str, phrases: tuple[str, ...], max_chars: int = 240) -> str:
    """Return the part of `text` that contains the most of the searched phrases."""
    densest = _find_densest(text, phrases, max_chars // 2)
    start = max(0, densest - max_chars // 4)
    start = text.find(" ", start, densest) + 1 or start if start else 0  # at a word boundary
    snippet = " ".join(text[start : start + max_chars].split())
    return f"{'…' if start else ''}{snippet}{'…' if start + max_chars < len(text) else ''}"


def _find_densest(text: str, phrases: tuple[str, ...], window: int) -> int:
    """Return the start of the stretch of `window` characters with the most different words."""
    matches = _compile_stems_pattern(phrases).finditer(text.casefold()) if phrases else iter(())
    recent = deque[tuple[int, str]]()
    best_start, best_count = 0, 0
    for match in itertools.islice(matches, _MAX_SNIPPET_MATCHES):
        recent.append((match.start(), match[0]))
        while recent[0][0] < match.start() - window:
            recent.popleft()
        if (count := len({word for _, word in recent})) > best_count:
            best_start, best_count = recent[0][0], count
    return best_start


@lru_cache(maxsize=16)
def _compile_words_pattern(stems: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern for whole words with one of these stems."""
    longest_first = sorted(stems, key=len, reverse=True)
    alternatives = "|".join(map(re.escape, longest_first)) or r"(?!)"
    return re.compile(rf"\b({alternatives})(?:{_SUFFIXES})?\b")


@lru_cache(maxsize=16)
def _compile_stems_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for inflected forms of the phrases, as the index matches stems, too."""
    stems = sorted({_stem(phrase.replace(" ", "")) for phrase in phrases}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, stems)))


def _stem(word: str) -> str:
    stem = re.sub(rf"(?:{_SUFFIXES})$", "", word)
    return stem if len(stem) >= _MIN_STEM_CHARS else word
