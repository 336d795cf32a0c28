"""Recognising secrets by name and by value, and taking them out of text."""

import base64
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

REDACTED = "[redacted]"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# A word of a name that ends in one of these is a secret: PGPASSWORD, githubToken, CLIENT_SECRETS.
_TELLING = re.compile(
    r"(password|passwd|passphrase|secret|token|credential|apikey|privatekey)s?$", re.IGNORECASE
)
# These tell only as a whole word among others: API_KEY and DB_PWD, but not PWD, KEYBOARD, AUTHOR.
_HINTS = frozenset({"key", "keys", "auth", "pwd", "pass", "authorization", "cookie", "dsn"})
_INNOCENT = re.compile(r"\d{1,9}|true|false|yes|no|on|off|", re.IGNORECASE)

_SHAPES = re.compile(
    r"""
      (?P<pem>-----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z))
    | (?P<scheme>(?i:\b(?:bearer|basic)\s+))[A-Za-z0-9._~+/=-]{8,}
    | (?P<url>\b[a-z][a-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+(?=@)
    | (?P<named>(?i:\b(?:api[_-]?key|access[_-]?token|x-api-key|password|passwd|secret|token)
        ["']?\s*[=:]\s*["']?))[^\s"'&,;}]{6,}
    | \b(?:
        sk-[A-Za-z0-9_-]{16,}            # Anthropic, OpenAI, OpenRouter
      | (?:sk|rk|pk)_(?:live|test)_\w{10,}
      | AIza[A-Za-z0-9_-]{30,}           # Google
      | ya29\.[A-Za-z0-9_-]{20,}
      | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | glpat-[A-Za-z0-9_-]{16,}
      | xox[abeoprs]-[A-Za-z0-9-]{10,}
      | (?:AKIA|ASIA)[A-Z0-9]{16}
      | hf_[A-Za-z0-9]{20,} | gsk_[A-Za-z0-9]{20,} | xai-[A-Za-z0-9]{20,} | npm_[A-Za-z0-9]{30,}
      | pypi-[A-Za-z0-9_-]{40,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
      | junto_[A-Za-z0-9_-]{20,}
      | eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*   # JSON web tokens
    )
    """,
    re.VERBOSE,
)

_Flat = str | int | float | None

# A shorter value is too likely to be part of an ordinary word.
_SHORTEST_KNOWN = 6


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Tell whether a variable, header or field of this name usually holds a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    if any(_TELLING.search(word) for word in words) or _TELLING.search("".join(words[-2:])):
        return True
    return len(words) > 1 and any(word in _HINTS for word in words)


class Redactor:
    """Takes secrets out of text: the known ones wherever they stand, others by their shape."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        spellings = {
            spelling
            for secret in known
            if len(secret) >= _SHORTEST_KNOWN
            for spelling in _spellings(secret)
        }
        longest_first = sorted(spellings, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        return _SHAPES.sub(_keep_label, self._known.sub(REDACTED, text))

    def is_secret(self, name: str, value: str) -> bool:
        """Tell whether the variable `name` with this value must not be shown."""
        if is_secret_name(name) and not _INNOCENT.fullmatch(value):
            return True
        return self.text(value) != value

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return `facts` without secrets, judged by their names and by their values."""
        # Most lines are flat and hold none; one look at the whole of such a line tells.
        if all(isinstance(value, _Flat) for value in facts.values()):
            whole = "\n".join(map(str, facts.values()))
            if not any(map(is_secret_name, facts)) and self.text(whole) == whole:
                return dict(facts)
        return {name: self._fact(name, value) for name, value in facts.items()}

    def _fact(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) and isinstance(value, _Flat):
            return value
        if is_secret_name(name) and not _INNOCENT.fullmatch(str(value)):
            return REDACTED
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._fact(str(key), v) for key, v in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._fact("", item) for item in value]
        return self.text(value if isinstance(value, str) else repr(value))


def _spellings(secret: str) -> set[str]:
    """Return the forms in which a secret may turn up: as it is, in a URL, in a header."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, quote(secret, safe=""), encoded}


def _keep_label(match: re.Match[str]) -> str:
    label = match["scheme"] or match["url"] or match["named"] or ""
    return label + REDACTED
