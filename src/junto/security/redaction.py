"""Recognise secrets and personal data, and remove them from text.

Secrets are recognised by the name of a field and by the format of its value.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from junto.security.secret_spellings import list_spellings

REDACTED = "[redacted]"

_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Endings of words in secret names: PGPASSWORD, githubToken, CLIENT_SECRETS, DBPASS.
_SECRET_WORD = re.compile(
    r"(?:password|passwd|passphrase|pass|pwd|pw|secret|token|credential|cred|key|jwt|dsn)s?$"
    r"|^(?:auth|authorization|cookies?|pat|otp)$"
)
# Words that match by accident; PWD and OLDPWD are directories.
_HARMLESS_WORDS = frozenset(
    {"oldpwd", "compass", "bypass", "monkey", "turkey", "hockey", "jockey", "donkey", "whiskey"}
)
# Names that end in these describe a location or an option: TOKEN_ENDPOINT, SSH_AUTH_SOCK.
_NON_SECRET_SUFFIXES = frozenset(
    {"sock", "dir", "directory", "file", "path", "endpoint", "host", "port", "enabled", "mode"}
)
_COUNT_WORDS = frozenset(
    {"max", "min", "budget", "limit", "count", "ttl", "timeout", "size", "tokens"}
)
_BOOLEAN_VALUE = re.compile(r"true|false|yes|no|on|off|", re.IGNORECASE)
_NUMBER_VALUE = re.compile(r"[\d.,_]{1,20}")

# Every repetition is bounded, so that matching takes linear time on any input.
_SECRET_PATTERN = re.compile(
    r"""
      (?P<pem>-----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY-----
        [^-]{0,20000}(?:-----END\ [A-Z ]{0,40}PRIVATE\ KEY-----)?)
    | (?P<scheme>(?i:\b(?:bearer|basic|token)\s{1,4}))(?=\S{0,200}[\d=_.-])[\w.~+/=-]{8,4000}
    | (?P<url>(?i:\b[a-z][a-z0-9+.-]{0,30}://))
        (?:[^\s/@:]{0,200}:(?:[^\s/]{1,500}|(?!\d{1,5}/)[^\s"'<>]{1,500})|[^\s/@:]{16,500})(?=@)
    | (?P<hook>https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)
        [\w/-]{8,200}
    | (?P<signed>(?i:[?&](?:sig|signature|x-amz-signature)=))[\w%+/=-]{16,500}
    | (?P<query>(?i:[?&](?:amp;)?(?:[a-z0-9_-]{0,30}[_-])?(?:key|token|secret|password|passwd|pwd
        |auth|apikey|credential|code)=))[^\s"'&<>#]{6,4000}
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

# An argument without structure, such as a key that a program takes as its only argument.
_OPAQUE_TOKEN = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_+=-]{20,4000}")

# Shorter values are too likely to be part of an ordinary word.
_MIN_SECRET_CHARS = 6

_PII_PATTERN = re.compile(
    r"""
      (?P<mail>\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b)
    | (?P<iban>\b[A-Z]{2}\d{2}(?:\ ?[A-Z0-9]{4}){3,7}(?:\ ?[A-Z0-9]{1,3})?\b)
    | (?P<social>\b\d{3}-\d{2}-\d{4}\b)
    | (?P<card>\b\d(?:[\ -]?\d){12,18}\b)
    | (?P<phone>(?<![\w.])\+\d{1,3}[\ .-]?(?:\(?\d{1,4}\)?[\ .-]?){2,4}\d{2,4}\b)
    """,
    re.VERBOSE,
)
_PII_LABELS = {
    "mail": "[e-mail]",
    "iban": "[account]",
    "social": "[number]",
    "card": "[card]",
    "phone": "[phone]",
}
_LUHN_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

_Scalar = str | int | float | None


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Return whether a variable, header or field with this name usually holds a secret."""
    words = [word.lower() for word in _NAME_WORD.findall(name)]
    joined = "".join(words)
    if not words or words[-1] in _NON_SECRET_SUFFIXES or joined in ("pwd", "oldpwd"):
        return False
    return (
        any(_SECRET_WORD.search(word) and word not in _HARMLESS_WORDS for word in words)
        or bool(len(words) > 1 and _SECRET_WORD.search("".join(words[-2:])))
        or joined.endswith(("password", "secret", "token"))
    )


def _is_harmless(name: str, value: str) -> bool:
    """Return whether a value cannot be a secret despite its name: a boolean or a count."""
    if _BOOLEAN_VALUE.fullmatch(value):
        return True
    is_count = not _COUNT_WORDS.isdisjoint(word.lower() for word in _NAME_WORD.findall(name))
    return is_count and _NUMBER_VALUE.fullmatch(value) is not None


class Redactor:
    """A filter that removes secrets: known values in any encoding, others by their format."""

    def __init__(self, known_secrets: Iterable[str] = ()) -> None:
        spellings = {
            spelling
            for secret in known_secrets
            if len(secret) >= _MIN_SECRET_CHARS
            for spelling in list_spellings(secret)
        }
        self._known_pattern = re.compile(_build_pattern(sorted(spellings)) or r"(?!)")

    def redact_text(self, text: str) -> str:
        """Return `text` with secrets replaced."""
        return _SECRET_PATTERN.sub(_keep_label, self._known_pattern.sub(REDACTED, text))

    def is_secret(self, name: str, value: str) -> bool:
        """Return whether the variable `name` with this value must not be shown."""
        if is_secret_name(name) and not _is_harmless(name, value):
            return True
        return self.redact_text(value) != value

    def redact_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return `fields` with secrets replaced, recognised by their names and values."""
        # Fast path: most log lines are flat and contain no secret, so one search is enough.
        if all(isinstance(value, _Scalar) for value in fields.values()):
            joined = "\n".join(map(str, fields.values()))
            if not any(map(is_secret_name, fields)) and self.redact_text(joined) == joined:
                return dict(fields)
        return {name: self._redact_field(name, value) for name, value in fields.items()}

    def redact_value(self, value: Any) -> Any:
        """Return a value with secrets replaced, recognised by their format only."""
        return self._redact_field("", value)

    def _redact_field(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) and isinstance(value, _Scalar):
            return value
        if is_secret_name(name) and not _is_harmless(name, str(value)):
            return REDACTED
        if isinstance(value, Mapping):
            return {
                self.redact_text(str(key)): self._redact_field(str(key), item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            return [self._redact_field("", item) for item in value]
        return self.redact_text(value if isinstance(value, str) else repr(value))


def _build_pattern(texts: Sequence[str]) -> str:
    """Return a pattern for the longest of these sorted texts, which share their beginnings.

    At each character of a text only one branch can match, so that many secrets take about as long
    as one: a plain alternation would be tried one by one.
    """
    branches: list[str] = []
    for first, group in groupby((text for text in texts if text), key=itemgetter(0)):
        members = list(group)
        prefix = os.path.commonprefix([members[0], members[-1]])  # noqa: RUF071 - no paths
        rest = [text[len(prefix) :] for text in members]
        tail = _build_pattern(rest)
        optional = "?" if not rest[0] and tail else ""
        branches.append(re.escape(prefix or first) + (f"(?:{tail}){optional}" if tail else ""))
    return "|".join(branches)


def _keep_label(match: re.Match[str]) -> str:
    label_groups = ("scheme", "url", "hook", "signed", "query", "named")
    label = next(filter(None, map(match.group, label_groups)), "")
    return label + REDACTED


def find_secret_arguments(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the command-line arguments, or parts of them, that look like secrets."""
    after_secret_flag = False
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        is_secret_flag = flag.startswith("-") and is_secret_name(flag.lstrip("-"))
        if after_secret_flag:
            yield argument
        elif (is_secret_flag or is_secret_name(flag)) and equals and not _is_harmless(flag, value):
            yield value
        elif _OPAQUE_TOKEN.fullmatch(argument):
            yield argument
        after_secret_flag = is_secret_flag and not equals and not after_secret_flag


def redact_pii(text: str) -> str:
    """Return `text` with e-mail addresses, phone, account and card numbers replaced by labels."""
    return _PII_PATTERN.sub(_replace_pii, text)


def _replace_pii(match: re.Match[str]) -> str:
    kind = str(match.lastgroup)
    if kind == "card" and not _is_card_number(match[0]):
        return match[0]
    return _PII_LABELS[kind]


def _is_card_number(text: str) -> bool:
    """Return whether the digits pass the Luhn check."""
    digits = [int(char) for char in reversed(text) if char.isdigit()]
    total = sum(_LUHN_DOUBLED[digit] if index % 2 else digit for index, digit in enumerate(digits))
    return total % 10 == 0
