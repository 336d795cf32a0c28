"""Text as words that can be searched for, the same for every database."""

import re
from collections.abc import Iterator

# Writing without blanks between words: each character is a word, and a run of them a phrase.
_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0e7f"
_TOKEN = re.compile(rf"[{_DENSE}]+|[^\W{_DENSE}]+", re.UNICODE)
_EACH = re.compile(rf"([{_DENSE}])")
_MOST_TOKENS = 32
_COMMON_WORDS = """
a an and are as at be but by can did do does for from had has have how i if in is it its me my no
not of on or our so that the their them then there these they this to was we were what when where
which who why will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def spread(text: str) -> str:
    """Return `text` with blanks between characters that are words by themselves."""
    return _EACH.sub(r" \1 ", text)


def phrases(query: str) -> tuple[str, ...]:
    """Return what is searched for: words, without the most common ones unless there are no others.

    A phrase of several words, separated by blanks, must stand together.
    """
    found = list(dict.fromkeys(_tokens(query)))[:_MOST_TOKENS]
    telling = [token for token in found if token not in _COMMON]
    return tuple(telling or found)


def _tokens(query: str) -> Iterator[str]:
    for match in _TOKEN.finditer(query.casefold()):
        yield " ".join(spread(match[0]).split())


def snippet(text: str, wanted: tuple[str, ...], length: int = 240) -> str:
    """Return the part of `text` around the first of the words that were searched for."""
    lowered = text.casefold()
    spots = [lowered.find(phrase.replace(" ", "")) for phrase in wanted]
    first = min((spot for spot in spots if spot >= 0), default=0)
    start = max(0, first - length // 4)
    piece = " ".join(text[start : start + length].split())
    return f"{'…' if start else ''}{piece}{'…' if start + length < len(text) else ''}"
