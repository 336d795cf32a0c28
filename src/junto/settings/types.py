"""Annotated types for settings values, with parsing and validation."""

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")


def _parse_duration(value: Any) -> Any:
    if isinstance(value, str) and (match := _DURATION_PATTERN.fullmatch(value.strip())):
        return float(match[1]) * _SECONDS_PER_UNIT[match[2]]
    return value


def _normalize_off(value: Any) -> Any:
    # YAML 1.1 parses a bare `off` as False.
    return "off" if value is False else value


def split_list(value: Any) -> Any:
    """Split `a, b` into a list, so that an environment variable can hold one."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return value


def _check_timezone(name: str) -> str:
    import zoneinfo  # deferred: only needed if one is set

    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(name) from error
    return name


def _require_prefix(*prefixes: str) -> Callable[[SecretStr], SecretStr]:
    def check(url: SecretStr) -> SecretStr:
        if not url.get_secret_value().startswith(prefixes):
            raise ValueError("no address of this kind")
        return url

    return check


def _expand_path(path: Path) -> Path:
    """Expand `~`, and reject NUL characters and unknown users."""
    if "\0" in str(path):
        raise ValueError("no path")
    try:
        return path.expanduser()
    except RuntimeError as error:  # unknown user in `~user`
        raise ValueError("no path") from error


Duration = Annotated[
    float,
    BeforeValidator(_parse_duration),
    Field(
        ge=0,
        allow_inf_nan=False,
        json_schema_extra={"accepts": "a duration such as 90s, 12h or 30d"},
    ),
]
NameOrOff = Annotated[str, BeforeValidator(_normalize_off)]
UserPath = Annotated[Path, AfterValidator(_expand_path)]
PathList = Annotated[tuple[UserPath, ...], BeforeValidator(split_list)]
NameList = Annotated[tuple[str, ...], BeforeValidator(split_list)]
TimeZone = Annotated[
    str,
    AfterValidator(_check_timezone),
    Field(json_schema_extra={"accepts": "an IANA time zone such as Europe/Paris"}),
]
Port = Annotated[int, Field(ge=0, le=65535)]
# Restricted because it becomes part of a host name or URL.
Region = Annotated[
    str,
    Field(pattern=r"^[a-z0-9-]+$", json_schema_extra={"accepts": "small letters, digits and -"}),
]
# Database URLs are secret because they may contain a password.
PostgresUrl = Annotated[
    SecretStr,
    AfterValidator(_require_prefix("postgresql://", "postgres://")),
    Field(json_schema_extra={"accepts": "an address such as postgresql://user@host/name"}),
]
RedisUrl = Annotated[
    SecretStr,
    AfterValidator(_require_prefix("redis://", "rediss://", "unix://")),
    Field(json_schema_extra={"accepts": "an address such as redis://host:6379/0"}),
]
Dollars = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
