"""What is looked at before a result is shown: whether it tells anything, and whether it is new."""

import fnmatch
import re
from collections.abc import Iterable, Mapping

from junto.settings.choices import Trust

_WORD = re.compile(r"\w+")
# Longer than any word in Latin letters: data, or a program without blanks.
_LONGEST_WORD = 60
_SHINGLE = 4
_ALIKE = 0.8
_MOST_WORDS = 400
FACTORS = {Trust.HIGH: 1.25, Trust.NORMAL: 1.0, Trust.LOW: 0.6, Trust.NONE: 0.0}


def tells(text: str) -> bool:
    """Tell whether a passage says anything: it has words, and most of it is words."""
    found = _WORD.findall(text)
    words = [word for word in found if len(word) <= _LONGEST_WORD or not word.isascii()]
    return sum(map(len, words)) * 4 >= len(text.replace(" ", "")) and any(map(str.isalnum, words))


# A text as the short runs of words in it.
Runs = frozenset[tuple[str, ...]]


def runs_of(text: str) -> Runs:
    """Return a text as it is compared with others."""
    words = _WORD.findall(text.casefold())[:_MOST_WORDS]
    later = (words[start:] for start in range(1, _SHINGLE))
    return frozenset(zip(words, *later, strict=False)) or frozenset([tuple(words)])


def is_new(text: Runs, shown: Iterable[Runs]) -> bool:
    """Tell whether a text is nearly the same as none of those before it."""
    return not any(_alike(text, other) for other in shown)


def _alike(one: Runs, other: Runs) -> bool:
    common = len(one & other)
    return common >= _ALIKE * (len(one) + len(other) - common)


def trust(url: str, patterns: Mapping[str, Trust]) -> Trust:
    """Return how far a source is trusted: as the first pattern that fits its address says."""
    for pattern, level in patterns.items():
        if fnmatch.fnmatchcase(url, pattern):
            return level
    return Trust.NORMAL
