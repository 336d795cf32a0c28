"""Names for things that last: 128 random bits, as 32 hexadecimal digits."""

import re
import secrets

_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)


def new_id() -> str:
    """Return a name that nobody can guess."""
    return secrets.token_hex(16)


def canonical(name: str) -> str:
    """Return a name as it is kept: a UUID loses its dashes, anything else is taken as it is."""
    stripped = name.strip().strip("\"'").encode("utf-8", "replace").decode().replace("\0", "")
    return stripped.replace("-", "").lower() if _UUID.fullmatch(stripped) else stripped
