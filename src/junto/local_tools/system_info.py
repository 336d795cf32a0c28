"""The environment variables of this process, without secrets, and the current time."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from junto.domain.errors import InvalidInputError
from junto.security.redaction import Redactor

_HARMLESS_NAME = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|EDITOR|VISUAL|PAGER"
    "|HOSTNAME|TMPDIR|VIRTUAL_ENV|XDG_[A-Z]+_HOME"
)


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    """An environment variable; the value of a secret one is omitted."""

    key: str
    is_set: bool
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment variables of this process that a caller may see."""

    variables: Mapping[str, str]
    redactor: Redactor
    # For callers from elsewhere, who see only variables that are known to be harmless.
    only_harmless: bool = False

    def get(self, key: str) -> EnvironmentVariable:
        """Return the variable `key`, without its value if that is secret."""
        value = self.variables.get(key)
        if value is None:
            return EnvironmentVariable(key, is_set=False)
        is_hidden = self.only_harmless and not _HARMLESS_NAME.fullmatch(key)
        if is_hidden or self.redactor.is_secret(key, value):
            return EnvironmentVariable(key, is_set=True)
        # Bytes that are not UTF-8 are decoded to surrogates, which cannot be encoded.
        encodable = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return EnvironmentVariable(key, is_set=True, value=encodable)


def find_zone(name: str) -> tzinfo:
    """Return the time zone with an IANA name.

    Raises:
        InvalidInputError: there is no such time zone.
    """
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # ZoneInfo opens a file of that name: "../x" raises ValueError, a directory OSError.
        raise InvalidInputError(
            f"timezone: there is no zone called {name[:100]!r}. "
            "Use an IANA name such as Europe/Paris."
        ) from None


def get_current_time(zone_name: str) -> datetime:
    """Return the current time in a time zone, to the second."""
    return datetime.now(find_zone(zone_name)).replace(microsecond=0)
