"""The tree for human eyes: each value with its origin, secrets masked, and a file to start from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from junto.security.secrets import REDACTED, Redactor
from junto.settings.leaves import Leaf, leaves, takes
from junto.settings.loading import Loaded, Origin
from junto.settings.tree import Settings


@dataclass(frozen=True, slots=True)
class Shown:
    """One setting as it may be shown to anybody."""

    path: str
    value: Any
    origin: Origin


def shown(loaded: Loaded) -> list[Shown]:
    """Return every setting in the order of the tree, without secrets.

    They are masked by their type; what an operator has hidden in an ordinary value, such as a
    password in an address, is recognised by its shape.
    """
    redactor = Redactor(secrets_in(loaded.settings))
    plain = {path: _plain(value_at(loaded.settings, path)) for path in leaves()}
    return [
        Shown(path, redactor.anonymous(value), loaded.origins[path])
        for path, value in plain.items()
    ]


def as_facts(loaded: Loaded) -> dict[str, dict[str, Any]]:
    """Return every setting by its path, with its value and its origin, for programs."""
    return {row.path: {"value": row.value, "origin": str(row.origin)} for row in shown(loaded)}


def value_at(settings: Settings, path: str) -> Any:
    """Return the value of the setting at `path`."""
    return reduce(getattr, path.split("."), settings)


def secrets_in(value: Any) -> Iterator[str]:
    """Yield every secret that `value` holds, however deep."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from secrets_in(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from secrets_in(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_in(item)


def _plain(value: Any) -> Any:
    """Turn a value into what JSON can say, without its secrets."""
    match value:
        case SecretStr():
            return REDACTED
        case BaseModel():
            fields = type(value).model_fields
            return {name: _plain(getattr(value, name)) for name in fields if name in _given(value)}
        case Enum() | Path():
            return str(value)
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case tuple() | list():
            return [_plain(item) for item in value]
        case _:
            return value


def _given(value: BaseModel) -> set[str]:
    return value.model_fields_set | {"id"}


def spelled(value: Any) -> str:
    """Write a plain value the way the YAML file would."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(spelled(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {spelled(item)}" for key, item in value.items()) + "}"
    return str(value)


_STARTER_HEAD = """\
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


def starter_file() -> str:
    """Return a commented configuration file that changes nothing until somebody edits it."""
    lines = [_STARTER_HEAD]
    section = ""
    for leaf in leaves().values():
        branch, _, name = leaf.path.rpartition(".")
        if leaf.path == "models":
            continue
        if branch != section:
            lines += ["", *_opened(branch, section)]
            section = branch
        indent = "  " * leaf.path.count(".")
        lines.append(f"# {indent}{name}: {spelled(_plain(leaf.default))}  # {leaf.description}")
    return "\n".join(lines) + "\n"


def _opened(branch: str, previous: str) -> Iterator[str]:
    """Yield the section lines that lead from one branch to the next."""
    before, steps = previous.split("."), branch.split(".") if branch else []
    for depth, step in enumerate(steps):
        if before[: depth + 1] != steps[: depth + 1]:
            yield f"# {'  ' * depth}{step}:"


def manual() -> str:
    """Return the part of the manual that lists every setting, under a heading for each branch."""
    branches: dict[str, list[str]] = {}
    for leaf in leaves().values():
        branch = leaf.path.partition(".")[0] if "." in leaf.path else ""
        branches.setdefault(branch, []).append(f"| `{leaf.path}` | {_about(leaf)} |\n")
    return "\n".join(_headed(branch) + "".join(rows) for branch, rows in branches.items())


def _headed(branch: str) -> str:
    kind = Settings.model_fields[branch].annotation if branch else None
    about = (kind.__doc__ if kind else "") or "What stands by itself."
    head = f"## {branch or 'At the top'}\n\n{about}\n\n"
    return head + "| setting | takes, default, purpose, variable |\n|---|---|\n"


def _about(leaf: Leaf) -> str:
    default = spelled(_plain(leaf.default))
    return f"{takes(leaf.path)}; default `{default}`: {leaf.description}. `{leaf.variable}`"
