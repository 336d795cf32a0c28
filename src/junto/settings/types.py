"""The kinds of values that settings take, and how people may write them."""

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")


def _seconds(value: Any) -> Any:
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        return float(match[1]) * _UNITS[match[2]]
    return value


def _off(value: Any) -> Any:
    # In YAML a bare `off` is a truth value.
    return "off" if value is False else value


def split(value: Any) -> Any:
    """Read `a, b` as a list, since an environment variable has no other way to say it."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return value


def _zone(name: str) -> str:
    import zoneinfo  # only for those who set one

    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(name) from error
    return name


def _begins(*beginnings: str) -> Callable[[SecretStr], SecretStr]:
    def check(address: SecretStr) -> SecretStr:
        if not address.get_secret_value().startswith(beginnings):
            raise ValueError("no address of this kind")
        return address

    return check


def _folder(path: Path) -> Path:
    """Expand `~`, and refuse what no path can hold."""
    if "\0" in str(path):
        raise ValueError("no path")
    try:
        return path.expanduser()
    except RuntimeError as error:  # there is no such user
        raise ValueError("no path") from error


Duration = Annotated[
    float,
    BeforeValidator(_seconds),
    Field(
        ge=0, allow_inf_nan=False, json_schema_extra={"takes": "a duration such as 90s, 12h or 30d"}
    ),
]
MayBeOff = Annotated[str, BeforeValidator(_off)]
Folder = Annotated[Path, AfterValidator(_folder)]
Folders = Annotated[tuple[Folder, ...], BeforeValidator(split)]
Names = Annotated[tuple[str, ...], BeforeValidator(split)]
TimeZone = Annotated[
    str,
    AfterValidator(_zone),
    Field(json_schema_extra={"takes": "an IANA time zone such as Europe/Paris"}),
]
Port = Annotated[int, Field(ge=0, le=65535)]
# It becomes part of an address.
Region = Annotated[
    str,
    Field(pattern=r"^[a-z0-9-]+$", json_schema_extra={"takes": "small letters, digits and -"}),
]
# They may hold a password.
PostgresAddress = Annotated[
    SecretStr,
    AfterValidator(_begins("postgresql://", "postgres://")),
    Field(json_schema_extra={"takes": "an address such as postgresql://user@host/name"}),
]
RedisAddress = Annotated[
    SecretStr,
    AfterValidator(_begins("redis://", "rediss://", "unix://")),
    Field(json_schema_extra={"takes": "an address such as redis://host:6379/0"}),
]
Dollars = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
