"""Merge flags, environment variables, aliases, config files and defaults into `Settings`.

The origin of each value is recorded, so that errors and `junto config show` can name its source.
"""

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
from junto.security.redaction import Redactor
from junto.settings.aliases import (
    ALIASES,
    POLYBRAIN_CONFIG_PATH,
    POLYBRAIN_MODEL_VARIABLES,
    POLYBRAIN_SETTING_PATHS,
    Alias,
    build_polybrain_model,
)
from junto.settings.config_file import check_simple, parse_config, read_content
from junto.settings.fields import collect_fields, describe_type
from junto.settings.paths import find_home_dir
from junto.settings.schema import Settings
from junto.settings.workspace_trust import (
    WORKSPACE_FILE_NAME,
    TrustStore,
    UnexpandedVariables,
    read_workspace_file,
    tighten,
)

OriginKind = Literal["flag", "environment", "alias", "file", "default"]

# Flags whose name is not the last component of the setting's path.
_FLAG_NAMES = {"logging.level": "--log-level"}
# JUNTO_ variables that do not correspond to a setting.
_NON_SETTING_VARIABLES = frozenset({"JUNTO_CONFIG"})
_MAX_QUOTE_CHARS = 80

_redactor = Redactor()


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """Where a value came from: `environment JUNTO_HTTP_PORT`, `file junto.yaml`, `default`."""

    kind: OriginKind
    name: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, the origin of each value, the files read, and warnings about the sources.

    An untrusted file has changed the settings in `tightened`; `notices` say what of it is ignored.
    """

    settings: Settings
    origins: Mapping[str, SettingOrigin]
    files: tuple[Path, ...]
    warnings: tuple[str, ...]
    notices: tuple[str, ...] = ()
    tightened: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _SourcedValue:
    raw: Any
    origin: SettingOrigin


_Layer = dict[str, _SourcedValue]


@dataclass(frozen=True, slots=True)
class _ConfigFile:
    """A config file to read; `is_polybrain` marks Polybrain's own file."""

    path: Path
    is_polybrain: bool = False


def load_settings(  # noqa: PLR0913 - all but one are keywords
    flags: Mapping[str, Any] | None = None,
    *,
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
    home_dir: Path | None = None,
    working_dir: Path | None = None,
    shared: bool = False,
) -> LoadedSettings:
    """Read every source and return the settings.

    `flags` maps setting paths to values; None means that the flag was not given. With `shared`, the
    settings are for a server that other directories use too, so an untrusted file is not read.

    Raises:
        ConfigurationError: a value is invalid for its setting; the message names the source.
    """
    env = os.environ if environment is None else environment
    variables = {name: value for name, value in env.items() if value}
    home = home_dir or find_home_dir()
    explicit = config or (Path(variables["JUNTO_CONFIG"]) if "JUNTO_CONFIG" in variables else None)
    workspace = None if explicit else _find_workspace_file(working_dir or Path())
    store = _find_trust_store(variables, home)
    is_trusted = workspace is not None and store.is_trusted(workspace.path, workspace.content)
    files = tuple(_find_config_files(explicit, "--config" if config else "", variables, home))
    layers = [
        _build_flag_layer(flags or {}),
        _build_environment_layer(variables),
        _build_alias_layer(variables),
        *([workspace.build_layer(env)] if workspace and is_trusted else ()),
        *(_build_file_layer(file, env) for file in files),
    ]
    chosen = {
        path: next(layer[path] for layer in layers if path in layer)
        for path in collect_fields()
        if any(path in layer for layer in layers)
    }
    settings = _validate(chosen)
    notices: tuple[str, ...] = ()
    tightened: _Layer = {}
    if workspace and not is_trusted and not shared:
        tightened, notices = workspace.tighten(settings, store)
        chosen |= tightened
        settings = _validate(chosen) if tightened else settings
    return LoadedSettings(
        settings=settings,
        origins={
            path: chosen[path].origin if path in chosen else SettingOrigin("default")
            for path in collect_fields()
        },
        files=(*((workspace.path,) if workspace else ()), *(file.path for file in files)),
        warnings=tuple(_iter_warnings(variables)),
        notices=notices,
        tightened=frozenset(tightened),
    )


@dataclass(frozen=True, slots=True)
class _WorkspaceFile:
    """The config file in the working directory, as it was when it was found."""

    path: Path
    content: bytes
    # Why it was not read.
    problem: str = ""

    def build_layer(self, variables: Mapping[str, str]) -> _Layer:
        """Return all values of the file, which is trusted."""
        values = parse_config(self.content, self.path, variables)
        return _to_layer(values, self.path)

    def tighten(self, settings: Settings, store: TrustStore) -> tuple[_Layer, tuple[str, ...]]:
        """Return the values that may count although the file is not trusted, and the notices."""
        state = (
            "has changed since you trusted it"
            if store.has_changed(self.path, self.content)
            else "is not trusted"
        )
        hint = f"If it is yours: `junto trust {self.path}`, or --config {self.path}."
        if self.problem:
            return {}, (f"{self.problem} It is ignored; --config names a file explicitly.",)
        try:
            check_simple(self.content, self.path)
            values = parse_config(self.content, self.path, UnexpandedVariables())
        except ConfigurationError as error:
            return {}, (f"{self.path} {state} and is ignored. {error.message} {hint}",)
        except Exception:  # noqa: BLE001 - a file of somebody else must not stop us
            return {}, (f"{self.path} {state}, cannot be understood, and is ignored.",)
        changes, ignored = tighten(settings, values)
        notice = f"{self.path} {state}, so it cannot set {', '.join(ignored)}. {hint}"
        return _to_layer(changes, self.path), (notice,) if ignored else ()


def find_user_trust_store() -> TrustStore:
    """Return the list of the config files that the current user trusts."""
    return _find_trust_store(os.environ, find_home_dir())


def _find_trust_store(variables: Mapping[str, str], home_dir: Path) -> TrustStore:
    return TrustStore(_find_config_dir(variables, home_dir) / "trusted.json")


def _find_config_dir(variables: Mapping[str, str], home_dir: Path) -> Path:
    return Path(variables.get("XDG_CONFIG_HOME", home_dir / ".config")) / "junto"


def _find_workspace_file(working_dir: Path) -> _WorkspaceFile | None:
    path = working_dir / WORKSPACE_FILE_NAME
    if not os.path.lexists(path):
        return None
    try:
        return _WorkspaceFile(path, read_workspace_file(path))
    except ConfigurationError as error:
        return _WorkspaceFile(path, b"", error.message)


def _find_config_files(
    explicit: Path | None, flag: str, variables: Mapping[str, str], home_dir: Path
) -> Iterator[_ConfigFile]:
    """Yield the files to read, highest precedence first."""
    user_file = _find_config_dir(variables, home_dir) / "config.yaml"
    if explicit:
        yield _ConfigFile(_require_file(explicit, flag or "JUNTO_CONFIG"))
    elif _is_file(user_file):
        yield _ConfigFile(user_file)
    if POLYBRAIN_CONFIG_PATH in variables:
        path = _require_file(Path(variables[POLYBRAIN_CONFIG_PATH]), POLYBRAIN_CONFIG_PATH)
        yield _ConfigFile(path, is_polybrain=True)
    elif _is_file(home_dir / ".polybrain.yaml"):
        yield _ConfigFile(home_dir / ".polybrain.yaml", is_polybrain=True)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # not accessible, or not a valid path
        return False


def _require_file(path: Path, source: str) -> Path:
    with contextlib.suppress(RuntimeError):  # unknown user in `~user`
        path = path.expanduser()
    if not _is_file(path):
        raise ConfigurationError(
            f"{source}={path}: there is no such file. `junto config init --path {path}` makes one."
        )
    return path


def _build_flag_layer(flags: Mapping[str, Any]) -> _Layer:
    return {
        path: _SourcedValue(
            value, SettingOrigin("flag", _FLAG_NAMES.get(path, f"--{path.rpartition('.')[2]}"))
        )
        for path, value in flags.items()
        if value is not None
    }


def _build_environment_layer(variables: Mapping[str, str]) -> _Layer:
    return {
        field.path: _SourcedValue(
            variables[field.variable], SettingOrigin("environment", field.variable)
        )
        for field in collect_fields().values()
        if field.variable in variables
    }


def _build_alias_layer(variables: Mapping[str, str]) -> _Layer:
    layer: _Layer = {}
    for alias in ALIASES:
        if alias.variable in variables and alias.path not in layer:
            value = _parse_alias(alias, variables[alias.variable])
            if value is not None:
                layer[alias.path] = _SourcedValue(value, SettingOrigin("alias", alias.variable))
    if (model := build_polybrain_model(variables)) is not None:
        layer["models"] = _SourcedValue(
            model, SettingOrigin("alias", ", ".join(POLYBRAIN_MODEL_VARIABLES))
        )
    return layer


def _parse_alias(alias: Alias, value: str) -> Any:
    try:
        return alias.parse(value)
    except (ValueError, KeyError):
        accepts = alias.accepts or describe_type(alias.path)
        raise ConfigurationError(f"{alias.variable}={_quote(value)}: it takes {accepts}.") from None


def _build_file_layer(file: _ConfigFile, variables: Mapping[str, str]) -> _Layer:
    key_aliases = POLYBRAIN_SETTING_PATHS if file.is_polybrain else None
    values = parse_config(read_content(file.path), file.path, variables, key_aliases)
    return _to_layer(values, file.path)


def _to_layer(values: Mapping[str, Any], path: Path) -> _Layer:
    origin = SettingOrigin("file", str(path))
    return {key: _SourcedValue(value, origin) for key, value in values.items()}


def _validate(chosen: _Layer) -> Settings:
    tree: dict[str, Any] = {}
    for path, value in chosen.items():
        *sections, name = path.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[name] = _parse_json(value.raw) if collect_fields()[path].is_structured else value.raw
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        problems = [_format_problem(detail, chosen) for detail in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(dict.fromkeys(problems))) from None


def _parse_json(raw: Any) -> Any:
    """Parse a JSON array or object given as text, as in an environment variable."""
    if isinstance(raw, str) and raw.lstrip().startswith(("[", "{")):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(raw)
    return raw


def _format_problem(detail: ErrorDetails, chosen: _Layer) -> str:
    location = [str(step) for step in detail["loc"]]
    path = next(
        candidate
        for length in range(len(location), 0, -1)
        if (candidate := ".".join(location[:length])) in collect_fields()
    )
    origin = chosen[path].origin
    location_in_value = ".".join(location[path.count(".") + 1 :])
    if location_in_value:
        return f"{_format_source(origin, path)}: {location_in_value}: {detail['msg'].lower()}."
    shown = "" if collect_fields()[path].is_secret else f"={_quote(chosen[path].raw)}"
    return f"{_format_source(origin, path)}{shown}: it takes {describe_type(path)}."


def _quote(value: Any) -> str:
    """Return a value shortened and redacted: a key may have ended up in the wrong setting."""
    text = repr(value)
    return _redactor.redact_text(
        text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + "…"
    )


def _format_source(origin: SettingOrigin, path: str) -> str:
    return f"{origin.name}: {path}" if origin.kind == "file" else origin.name


def _iter_warnings(variables: Mapping[str, str]) -> Iterator[str]:
    known = {field.variable for field in collect_fields().values()} | _NON_SETTING_VARIABLES
    for name in sorted(variables):
        if name.startswith("JUNTO_") and name not in known:
            yield f"{name} is set, but there is no such setting. `junto config show` lists them."
    present = [name for name in POLYBRAIN_MODEL_VARIABLES if name in variables]
    if present and len(present) < len(POLYBRAIN_MODEL_VARIABLES):
        missing = ", ".join(name for name in POLYBRAIN_MODEL_VARIABLES if name not in present)
        yield f"{', '.join(present)} is set, but means nothing without {missing}."
