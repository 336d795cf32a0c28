"""Telling whether two processes have the same settings, without telling anybody which."""

import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from junto.settings.tree import Settings


def fingerprint(settings: Settings) -> str:
    """Return what is the same for the same settings, their secrets included."""
    text = json.dumps(_revealed(settings), sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _revealed(value: Any) -> Any:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case BaseModel():
            return {name: _revealed(getattr(value, name)) for name in type(value).model_fields}
        case Enum() | Path():
            return str(value)
        case Mapping():
            return {str(key): _revealed(item) for key, item in value.items()}
        case tuple() | list() | set() | frozenset():
            return [_revealed(item) for item in value]
        case _:
            return value if isinstance(value, str | int | float | None) else repr(value)
