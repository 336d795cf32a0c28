"""Bars made of characters, in eighths of one where the terminal can show them."""

import sys

_EIGHTHS = " ▏▎▍▌▋▊▉"
_WHOLE = "█"
_PLAIN = "#"


def bar(share: float, width: int) -> str:
    """Return a bar as long as `share` of `width`; whatever is more than nothing can be seen."""
    share = min(max(share, 0.0), 1.0)
    if not _shows(_EIGHTHS):
        return _PLAIN * max(round(share * width), int(share > 0))
    eighths = max(round(share * width * 8), int(share > 0))
    return (_WHOLE * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _shows(characters: str) -> bool:
    try:
        characters.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
