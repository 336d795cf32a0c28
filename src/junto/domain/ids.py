"""Ids of stored records: 128 random bits, as 32 hexadecimal digits."""

import re
import secrets

_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)


def new_id() -> str:
    """Return a new id that cannot be guessed."""
    return secrets.token_hex(16)


def normalize_id(value: str) -> str:
    """Return an id as it is stored: without quotes or NULs and, if it is a UUID, without dashes."""
    stripped = value.strip().strip("\"'").encode("utf-8", "replace").decode().replace("\0", "")
    return stripped.replace("-", "").lower() if _UUID.fullmatch(stripped) else stripped
