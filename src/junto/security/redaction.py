"""Recognising secrets by name and by value, and taking them out of text."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

REDACTED = "[redacted]"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# A word of a name that ends in one of these tells: PGPASSWORD, githubToken, CLIENT_SECRETS, DBPASS.
_TELLING = re.compile(
    r"(?:password|passwd|passphrase|pass|pwd|pw|secret|token|credential|cred|key|jwt|dsn)s?$"
    r"|^(?:auth|authorization|cookies?|pat|otp)$"
)
# Words that only happen to end so; PWD and OLDPWD are folders.
_INNOCENT_WORDS = frozenset(
    {"oldpwd", "compass", "bypass", "monkey", "turkey", "hockey", "jockey", "donkey", "whiskey"}
)
# The name of a place, a number or a switch about secrets is none: TOKEN_ENDPOINT, SSH_AUTH_SOCK.
_ABOUT = frozenset(
    {"sock", "dir", "directory", "file", "path", "endpoint", "host", "port", "enabled", "mode"}
)
_COUNTS = frozenset({"max", "min", "budget", "limit", "count", "ttl", "timeout", "size", "tokens"})
_SWITCH = re.compile(r"true|false|yes|no|on|off|", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,_]{1,20}")

# Every repetition has an end, so that no text, however made, takes more than linear time.
_SHAPES = re.compile(
    r"""
      (?P<pem>-----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY-----
        [^-]{0,20000}(?:-----END\ [A-Z ]{0,40}PRIVATE\ KEY-----)?)
    | (?P<scheme>(?i:\b(?:bearer|basic|token)\s{1,4}))(?=\S{0,200}[\d=_.-])[\w.~+/=-]{8,4000}
    | (?P<url>(?i:\b[a-z][a-z0-9+.-]{0,30}://))
        (?:[^\s/@:]{0,200}:[^\s/]{1,500}|[^\s/@:]{16,500})(?=@)
    | (?P<hook>https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)
        [\w/-]{8,200}
    | (?P<signed>(?i:[?&](?:sig|signature|x-amz-signature)=))[\w%+/=-]{16,500}
    | (?P<named>(?i:\b(?:api[_-]?key|access[_-]?token|x-api-key|(?:shared)?(?:access|account)key
        |password|passwd|pwd(?!=["']?(?:/|[A-Za-z]:))|secret|token)["']?\s{0,4}[=:]\s{0,4}["']?))[^\s"'&,;}]{6,4000}
    | \b(?:
        sk-[A-Za-z0-9_-]{16,500}            # Anthropic, OpenAI, OpenRouter
      | (?:sk|rk|pk)_(?:live|test)_\w{10,200}
      | AIza[A-Za-z0-9_-]{30,100}           # Google
      | ya29\.[A-Za-z0-9_-]{20,500}
      | gh[pousr]_[A-Za-z0-9]{20,300} | github_pat_\w{20,300} | glpat-[A-Za-z0-9_-]{16,100}
      | xox[abeoprs]-[A-Za-z0-9-]{10,300}
      | (?:AKIA|ASIA)[A-Z0-9]{16}
      | hf_[A-Za-z0-9]{20,100} | gsk_[A-Za-z0-9]{20,200} | xai-[A-Za-z0-9]{20,200}
      | npm_[A-Za-z0-9]{30,100} | pypi-[A-Za-z0-9_-]{40,500}
      | SG\.[A-Za-z0-9_-]{16,100}\.[A-Za-z0-9_-]{16,100}
      | eyJ[A-Za-z0-9_-]{10,500}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{0,1000}   # web tokens
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
    whole = "".join(words)
    if not words or words[-1] in _ABOUT or whole in ("pwd", "oldpwd"):
        return False
    return (
        any(_TELLING.search(word) and word not in _INNOCENT_WORDS for word in words)
        or bool(len(words) > 1 and _TELLING.search("".join(words[-2:])))
        or whole.endswith(("password", "secret", "token"))
    )


def _is_harmless(name: str, value: str) -> bool:
    """Tell whether a value is so plain that its name does not matter: a switch, or a count."""
    if _SWITCH.fullmatch(value):
        return True
    counts = not _COUNTS.isdisjoint(word.lower() for word in _WORD.findall(name))
    return counts and _NUMBER.fullmatch(value) is not None


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
        if is_secret_name(name) and not _is_harmless(name, value):
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

    def anonymous(self, value: Any) -> Any:
        """Return a value without secrets, whatever its name is."""
        return self._fact("", value)

    def _fact(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) and isinstance(value, _Flat):
            return value
        if is_secret_name(name) and not _is_harmless(name, str(value)):
            return REDACTED
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._fact(str(key), v) for key, v in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._fact("", item) for item in value]
        return self.text(value if isinstance(value, str) else repr(value))


def _spellings(secret: str) -> set[str]:
    """Return the forms in which a secret may turn up: plain, in a URL, in a header, in quotes."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    quoted = {repr(secret)[1:-1], json.dumps(secret)[1:-1]}
    return {secret, quote(secret, safe=""), encoded} | quoted


def _keep_label(match: re.Match[str]) -> str:
    kept = ("scheme", "url", "hook", "signed", "named")
    label = next(filter(None, map(match.group, kept)), "")
    return label + REDACTED
