"""Joining flags, environment, old names, files and defaults into one tree that knows its origin."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from typing_extensions import override

from junto.domain.errors import ConfigurationError
from junto.security.secrets import Redactor
from junto.settings.aliases import (
    ALIASES,
    POLYBRAIN_CONFIG_PATH,
    POLYBRAIN_KEYS,
    POLYBRAIN_MODEL,
    Alias,
    polybrain_model,
)
from junto.settings.files import read_file
from junto.settings.leaves import leaves, takes
from junto.settings.places import home_directory
from junto.settings.tree import Settings
from junto.settings.trust import Found, Unfilled

Kind = Literal["flag", "environment", "alias", "file", "default"]

# Flags whose names are not the last word of their setting's path.
_FLAGS = {"logging.level": "--log-level"}
# Variables that are ours but choose a file instead of setting a value.
_NOT_SETTINGS = frozenset({"JUNTO_CONFIG"})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: `environment JUNTO_HTTP_PORT`, `file junto.yaml`, `default`."""

    kind: Kind
    name: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, where each came from, and what was odd about the sources."""

    settings: Settings
    origins: Mapping[str, Origin]
    files: tuple[Path, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Value:
    raw: Any
    origin: Origin


_Layer = dict[str, _Value]

_shapes = Redactor()
_LONGEST_QUOTE = 80


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    directory: Path | None = None,
) -> Loaded:
    """Read every source and return the settings.

    `flags` maps paths in the tree to values; those that are None were not given.

    Raises:
        ConfigurationError: a value is not what its setting takes; the message names its source.
    """
    everything = os.environ if environment is None else environment
    variables = {name: value for name, value in everything.items() if value}
    files = tuple(_files(config, variables, home or home_directory(), directory or Path()))
    layers = [_flags(flags or {}), _environment(variables), _aliases(variables)]
    named = [_file(file, everything) for file in files if not file.found]
    for file in files:
        if file.found:
            elsewhere = frozenset(path for layer in (*layers, *named) for path in layer)
            written = read_file(file.path, Unfilled())
            Found(file.path, written, elsewhere, everything).check()
            layers.append(_file(file, everything))
    layers += named
    chosen = {
        path: next(layer[path] for layer in layers if path in layer)
        for path in leaves()
        if any(path in layer for layer in layers)
    }
    return Loaded(
        settings=_validated(chosen),
        origins={
            path: chosen[path].origin if path in chosen else Origin("default") for path in leaves()
        },
        files=tuple(file.path for file in files),
        warnings=tuple(_oddities(variables)),
    )


@dataclass(frozen=True, slots=True)
class _File:
    """A file to read; `foreign` is one of Polybrain's, `found` one that nobody named."""

    path: Path
    foreign: bool = False
    found: bool = False


def _files(
    config: Path | None, variables: Mapping[str, str], home: Path, directory: Path
) -> Iterator[_File]:
    """Yield the files to read, the strongest first."""
    named = config or (Path(variables["JUNTO_CONFIG"]) if "JUNTO_CONFIG" in variables else None)
    if named:
        yield _File(_existing(named, "--config" if config else "JUNTO_CONFIG"))
    else:
        xdg = Path(variables.get("XDG_CONFIG_HOME", home / ".config"))
        usual = (
            _File(directory / "junto.yaml", found=True),
            _File(xdg / "junto" / "config.yaml"),
        )
        yield from (file for file in usual if _is_file(file.path))
    if POLYBRAIN_CONFIG_PATH in variables:
        path = _existing(Path(variables[POLYBRAIN_CONFIG_PATH]), POLYBRAIN_CONFIG_PATH)
        yield _File(path, foreign=True)
    elif _is_file(home / ".polybrain.yaml"):
        yield _File(home / ".polybrain.yaml", foreign=True)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # not ours to look at, or no path at all
        return False


def _existing(path: Path, said_by: str) -> Path:
    with contextlib.suppress(RuntimeError):  # there is no such user
        path = path.expanduser()
    if not _is_file(path):
        raise ConfigurationError(
            f"{said_by}={path}: there is no such file. `junto config init --path {path}` makes one."
        )
    return path


def _flags(flags: Mapping[str, Any]) -> _Layer:
    return {
        path: _Value(value, Origin("flag", _FLAGS.get(path, f"--{path.rpartition('.')[2]}")))
        for path, value in flags.items()
        if value is not None
    }


def _environment(variables: Mapping[str, str]) -> _Layer:
    return {
        leaf.path: _Value(variables[leaf.variable], Origin("environment", leaf.variable))
        for leaf in leaves().values()
        if leaf.variable in variables
    }


def _aliases(variables: Mapping[str, str]) -> _Layer:
    layer: _Layer = {}
    for alias in ALIASES:
        if alias.variable in variables and alias.path not in layer:
            value = _read(alias, variables[alias.variable])
            if value is not None:
                layer[alias.path] = _Value(value, Origin("alias", alias.variable))
    if (model := polybrain_model(variables)) is not None:
        layer["models"] = _Value(model, Origin("alias", ", ".join(POLYBRAIN_MODEL)))
    return layer


def _read(alias: Alias, value: str) -> Any:
    try:
        return alias.read(value)
    except (ValueError, KeyError):
        raise ConfigurationError(
            f"{alias.variable}={_quoted(value)}: it takes {alias.takes or takes(alias.path)}."
        ) from None


def _file(file: _File, variables: Mapping[str, str]) -> _Layer:
    origin = Origin("file", str(file.path))
    values = read_file(file.path, variables, POLYBRAIN_KEYS if file.foreign else None)
    return {key: _Value(value, origin) for key, value in values.items()}


def _validated(chosen: _Layer) -> Settings:
    tree: dict[str, Any] = {}
    for path, value in chosen.items():
        *branches, name = path.split(".")
        node = tree
        for branch in branches:
            node = node.setdefault(branch, {})
        node[name] = _structured(value.raw) if leaves()[path].is_structured else value.raw
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        problems = [_problem(detail, chosen) for detail in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(dict.fromkeys(problems))) from None


def _structured(raw: Any) -> Any:
    """Parse what is written as JSON, as it is in an environment variable."""
    if isinstance(raw, str) and raw.lstrip().startswith(("[", "{")):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(raw)
    return raw


def _problem(detail: ErrorDetails, chosen: _Layer) -> str:
    location = [str(step) for step in detail["loc"]]
    path = next(
        found
        for length in range(len(location), 0, -1)
        if (found := ".".join(location[:length])) in leaves()
    )
    origin = chosen[path].origin
    inside = ".".join(location[path.count(".") + 1 :])
    if inside:
        return f"{_source(origin, path)}: {inside}: {detail['msg'].lower()}."
    shown = "" if leaves()[path].is_secret else f"={_quoted(chosen[path].raw)}"
    return f"{_source(origin, path)}{shown}: it takes {takes(path)}."


def _quoted(value: Any) -> str:
    """Return a value as it may be shown: somebody may have put a key where it does not belong."""
    text = repr(value)
    return _shapes.text(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…")


def _source(origin: Origin, path: str) -> str:
    return f"{origin.name}: {path}" if origin.kind == "file" else origin.name


def _oddities(variables: Mapping[str, str]) -> Iterator[str]:
    ours = {leaf.variable for leaf in leaves().values()} | _NOT_SETTINGS
    for name in sorted(variables):
        if name.startswith("JUNTO_") and name not in ours:
            yield f"{name} is set, but there is no such setting. `junto config show` lists them."
    given = [name for name in POLYBRAIN_MODEL if name in variables]
    if given and len(given) < len(POLYBRAIN_MODEL):
        missing = ", ".join(name for name in POLYBRAIN_MODEL if name not in given)
        yield f"{', '.join(given)} is set, but means nothing without {missing}."
