"""What time it is, anywhere."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from junto.domain.errors import InvalidInputError


def zone_named(name: str) -> tzinfo:
    """Return the time zone of this IANA name.

    Raises:
        InvalidInputError: there is no such zone.
    """
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # ZoneInfo opens a file of that name: "../x" is a ValueError, a folder an OSError.
        raise InvalidInputError(
            f"timezone: there is no zone called {name[:100]!r}. "
            "Use an IANA name such as Europe/Paris."
        ) from None


def now_in(name: str) -> datetime:
    """Return the present moment in the zone of this name, to the second."""
    return datetime.now(zone_named(name)).replace(microsecond=0)
