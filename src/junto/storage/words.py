"""Text as words that can be searched for, the same for every database."""

import itertools
import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

# Writing without blanks between words: each character is a word, and a run of them a phrase.
_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0e7f"
_TOKEN = re.compile(rf"[{_DENSE}]+|[^\W{_DENSE}]+", re.UNICODE)
_EACH = re.compile(rf"([{_DENSE}])")
_BETWEEN = re.compile(r"[\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_MOST_TOKENS, _LONGEST_PHRASE = 32, 16
_MOST_SPOTS = 200
_SHORTEST_ROOT = 3
_COMMON_WORDS = """
a an and are as at be but by can did do does for from had has have how i if in is it its me my no
not of on or our so that the their them then there these they this to was we were what when where
which who why will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def spread(text: str) -> str:
    """Return `text` with blanks between characters that are words by themselves."""
    return _EACH.sub(r" \1 ", text)


def plain(text: str) -> str:
    """Return words with nothing but blanks between them, without capitals and accents.

    A database that knows addresses, paths and hyphens would take many words for one.
    """
    folded = text.casefold()
    if not folded.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", bare)
    return _BETWEEN.sub(" ", folded).strip()


def phrases(query: str) -> tuple[str, ...]:
    """Return what is searched for: words, without the most common ones unless there are no others.

    A phrase of several words, separated by blanks, must stand together.
    """
    found = list(dict.fromkeys(_tokens(query)))[:_MOST_TOKENS]
    telling = [token for token in found if token not in _COMMON]
    return tuple(telling or found)


def _tokens(query: str) -> Iterator[str]:
    for match in _TOKEN.finditer(query.casefold()):
        yield " ".join(spread(match[0]).split()[:_LONGEST_PHRASE])


def snippet(text: str, wanted: tuple[str, ...], length: int = 240) -> str:
    """Return the part of `text` with most of the words that were searched for."""
    first = _densest(text, wanted, length // 2)
    start = max(0, first - length // 4)
    start = text.find(" ", start, first) + 1 or start if start else 0  # not within a word
    piece = " ".join(text[start : start + length].split())
    return f"{'…' if start else ''}{piece}{'…' if start + length < len(text) else ''}"


def _densest(text: str, wanted: tuple[str, ...], width: int) -> int:
    """Return where the stretch of `width` begins that has most of the words."""
    found = _roots(wanted).finditer(text.casefold()) if wanted else iter(())
    spots = deque[tuple[int, str]]()
    best, most = 0, 0
    for match in itertools.islice(found, _MOST_SPOTS):
        spots.append((match.start(), match[0]))
        while spots[0][0] < match.start() - width:
            spots.popleft()
        if (count := len({word for _, word in spots})) > most:
            best, most = spots[0][0], count
    return best


@lru_cache(maxsize=16)
def _roots(wanted: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for words in whatever form: searching looks at their roots alone."""
    roots = sorted({_root(phrase.replace(" ", "")) for phrase in wanted}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, roots)))


def _root(word: str) -> str:
    root = re.sub(r"(?:ies|es|s|ed|ing|ly|y)$", "", word)
    return root if len(root) >= _SHORTEST_ROOT else word
