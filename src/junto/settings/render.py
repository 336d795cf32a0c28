"""Render the settings: redacted values, a starter config file, reference docs, a fingerprint."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, SecretStr

from junto.security.redaction import REDACTED, Redactor, find_secret_arguments, is_secret_name
from junto.settings.fields import SettingField, collect_fields, describe_type
from junto.settings.list_entries import ServerEntry
from junto.settings.loader import LoadedSettings, SettingOrigin
from junto.settings.schema import Settings

_MIN_TOKEN_CHARS = 16
_STARTER_HEADER = """\
# Junto's settings. Every line below is commented out and shows the default.
# ${VARIABLE} takes a value from the environment; keep keys there, not here.
# `junto config show` tells what is in force and where it comes from.

# models:
#   - id: sonnet
#     provider: anthropic
#     modelName: claude-sonnet-5-5
#     apiKey: ${ANTHROPIC_API_KEY}
#   - id: local
#     baseUrl: http://127.0.0.1:11434/v1
"""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting with its value redacted for display."""

    path: str
    value: Any
    origin: SettingOrigin


def render_settings(loaded: LoadedSettings) -> list[SettingRow]:
    """Return every setting in declaration order, without secrets.

    Secret settings are masked by their type; secrets inside ordinary values, such as a password
    in a URL, are recognised by their format.
    """
    redactor = Redactor(iter_secrets(loaded.settings))
    values = {path: _to_json(get_value(loaded.settings, path)) for path in collect_fields()}
    return [
        SettingRow(path, redactor.redact_value(value), loaded.origins[path])
        for path, value in values.items()
    ]


def dump_settings(loaded: LoadedSettings) -> dict[str, dict[str, Any]]:
    """Return the redacted value and origin of every setting by its path, ready for JSON."""
    return {
        row.path: {"value": row.value, "origin": str(row.origin)} for row in render_settings(loaded)
    }


def get_value(settings: Settings, path: str) -> Any:
    """Return the value of the setting at `path`."""
    return reduce(getattr, path.split("."), settings)


def iter_secrets(value: Any) -> Iterator[str]:
    """Yield every secret in `value`, at any depth."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
        yield from _iter_url_secrets(value.get_secret_value())
    elif isinstance(value, ServerEntry):
        yield from find_secret_arguments(value.args)
        yield from _iter_url_secrets(value.url or "")
        yield from iter_secrets({**value.environment, **value.headers})
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from iter_secrets(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from iter_secrets(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from iter_secrets(item)


def _iter_url_secrets(url: str) -> Iterator[str]:
    """Yield the password and the secret parameters of a URL, as written and decoded.

    A password may contain any character, so it is everything between the first colon of the
    authority and the last at sign.
    """
    _, separator, rest = url.partition("://")
    if not separator:
        return
    credentials, _, address = rest.rpartition("@")
    user, colon, password = credentials.partition(":")
    # A token may stand alone; names of users are shorter.
    secret = password if colon else user if len(user) >= _MIN_TOKEN_CHARS else ""
    if secret:
        yield secret
        yield unquote(secret)
    for name, value in parse_qsl(address.partition("?")[2]):
        if is_secret_name(name):
            yield value


def _to_json(value: Any) -> Any:
    """Convert a value to JSON-compatible data, with secrets redacted."""
    match value:
        case SecretStr():
            return REDACTED
        case BaseModel():
            fields = type(value).model_fields
            return {
                name: _to_json(getattr(value, name))
                for name in fields
                if name in _list_explicit_fields(value)
            }
        case Enum() | Path():
            return str(value)
        case Mapping():
            return {key: _to_json(item) for key, item in value.items()}
        case tuple() | list():
            return [_to_json(item) for item in value]
        case _:
            return value


def _list_explicit_fields(value: BaseModel) -> set[str]:
    return value.model_fields_set | {"id"}


def format_yaml_value(value: Any) -> str:
    """Format a plain value as in a YAML file."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(format_yaml_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{key}: {format_yaml_value(item)}" for key, item in value.items())
            + "}"
        )
    return str(value)


def build_starter_file() -> str:
    """Return a config file with every default commented out."""
    lines = [_STARTER_HEADER]
    previous_section = ""
    for field in collect_fields().values():
        section, _, name = field.path.rpartition(".")
        if field.path == "models":
            continue
        if section != previous_section:
            lines += ["", *_iter_section_headers(section, previous_section)]
            previous_section = section
        indent = "  " * field.path.count(".")
        lines.append(
            f"# {indent}{name}: {format_yaml_value(_to_json(field.default))}  # {field.description}"
        )
    return "\n".join(lines) + "\n"


def _iter_section_headers(section: str, previous_section: str) -> Iterator[str]:
    """Yield the section lines between two consecutive settings."""
    previous, steps = previous_section.split("."), section.split(".") if section else []
    for depth, step in enumerate(steps):
        if previous[: depth + 1] != steps[: depth + 1]:
            yield f"# {'  ' * depth}{step}:"


def build_settings_reference() -> str:
    """Return the Markdown reference of all settings, with a heading for each section."""
    rows_by_section: dict[str, list[str]] = {}
    for field in collect_fields().values():
        section = field.path.partition(".")[0] if "." in field.path else ""
        rows_by_section.setdefault(section, []).append(
            f"| `{field.path}` | {_describe_field(field)} |\n"
        )
    return "\n".join(
        _format_heading(section) + "".join(rows) for section, rows in rows_by_section.items()
    )


def _format_heading(section: str) -> str:
    section_type = Settings.model_fields[section].annotation if section else None
    description = (section_type.__doc__ if section_type else "") or "What stands by itself."
    heading = f"## {section or 'At the top'}\n\n{description}\n\n"
    return heading + "| setting | takes, default, purpose, variable |\n|---|---|\n"


def _describe_field(field: SettingField) -> str:
    default = format_yaml_value(_to_json(field.default))
    return (
        f"{describe_type(field.path)}; default `{default}`: {field.description}. `{field.variable}`"
    )


def compute_fingerprint(settings: Settings) -> str:
    """Return a hash of the settings, including secrets, to detect changes."""
    text = json.dumps(_reveal(settings), sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _reveal(value: Any) -> Any:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case BaseModel():
            return {name: _reveal(getattr(value, name)) for name in type(value).model_fields}
        case Enum() | Path():
            return str(value)
        case Mapping():
            return {str(key): _reveal(item) for key, item in value.items()}
        case tuple() | list() | set() | frozenset():
            return [_reveal(item) for item in value]
        case _:
            return value if isinstance(value, str | int | float | None) else repr(value)
