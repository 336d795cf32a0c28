"""Read a YAML config file into values by setting path, expanding `${VARIABLES}`."""

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from junto.domain.errors import ConfigurationError
from junto.settings.fields import collect_fields

_VARIABLE_PATTERN = re.compile(r"\$\{([^}]*)\}")
_MERGE_TAG = "tag:yaml.org,2002:merge"
# Errors that PyYAML does not wrap when a value does not match its tag.
_YAML_VALUE_ERRORS = (
    ValueError, KeyError, AttributeError, TypeError, IndexError, RecursionError
)  # fmt: skip
_MAX_SIMPLE_DEPTH, _MAX_SIMPLE_EVENTS = 20, 5000
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def read_content(path: Path) -> bytes:
    """Return the content of a config file.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from error


def check_simple(content: bytes, path: Path) -> None:
    """Reject YAML that takes much time or memory to read: aliases, tags, many or deep values.

    Raises:
        ConfigurationError: the content is not simple, or not valid.
    """
    import yaml

    depth = count = 0
    try:
        for event in yaml.parse(content.decode("utf-8"), yaml.SafeLoader):
            count += 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            has_tag = getattr(event, "tag", None) is not None
            is_reference = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None)
            if is_reference or has_tag or depth > _MAX_SIMPLE_DEPTH or count > _MAX_SIMPLE_EVENTS:
                raise ConfigurationError(f"{path}: has aliases, tags, or too many values.")
    except (yaml.YAMLError, *_YAML_VALUE_ERRORS):
        raise ConfigurationError(f"{path}: is not valid YAML.") from None


def parse_config(
    content: bytes,
    path: Path,
    environment: Mapping[str, str],
    key_aliases: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the values in the content of the file at `path`, keyed by setting path.

    Keys may be in snake_case or camelCase; `key_aliases` maps other names to setting paths.

    Raises:
        ConfigurationError: the content is not valid, has an unknown key, or refers to a variable
            that is not set.
    """
    document = _parse_yaml(content, path)
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path}: it should hold settings such as `http:`, one per line.")
    values: dict[str, Any] = {}
    for key, value in _flatten(document, "", path, key_aliases or {}):
        if key in values:
            raise ConfigurationError(f"{path}: {key}: it stands here twice, in two spellings.")
        try:
            values[key] = _expand_variables(value, environment, f"{path}: {key}")
        except RecursionError:
            raise ConfigurationError(f"{path}: {key}: it contains itself.") from None
    return values


def _parse_yaml(content: bytes, path: Path) -> Any:
    import yaml  # deferred: most starts have no config file

    try:
        document = yaml.load(content.decode("utf-8"), _build_strict_loader())  # noqa: S506 - a SafeLoader
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8 text.") from error
    except (yaml.YAMLError, *_YAML_VALUE_ERRORS) as error:
        mark = getattr(error, "problem_mark", None)
        location = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "it"
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise ConfigurationError(f"{path}: {location}: {problem}.") from error
    return {} if document is None else document


def _build_strict_loader() -> Any:
    import yaml

    class StrictLoader(yaml.SafeLoader):
        """A SafeLoader that rejects duplicate keys, which PyYAML accepts silently."""

        @override
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if key.tag != _MERGE_TAG and key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value} stands here twice", problem_mark=key.start_mark
                    )
                if isinstance(key.value, str):
                    seen.add(key.value)
            return super().construct_mapping(node, deep)

    return StrictLoader


def _flatten(
    node: Mapping[Any, Any], prefix: str, path: Path, key_aliases: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    known = collect_fields()
    for raw_key, value in node.items():
        key = prefix + _CAMEL_CASE_BOUNDARY.sub("_", str(raw_key)).lower()
        key = key_aliases.get(key, key)
        if key in known:
            if value is not None:
                yield key, value
        elif any(each.startswith(f"{key}.") for each in known):
            if not isinstance(value, dict | None):
                raise ConfigurationError(f"{path}: {key}: it should hold settings of its own.")
            yield from _flatten(value or {}, f"{key}.", path, key_aliases)
        else:
            raise ConfigurationError(f"{path}: {key}: there is no such setting.{_suggest(key)}")


def _suggest(key: str) -> str:
    matches = difflib.get_close_matches(key, collect_fields(), n=1)
    return f" Did you mean {matches[0]}?" if matches else " `junto config show` lists them all."


def _expand_variables(value: Any, environment: Mapping[str, str], location: str) -> Any:
    # Expanded after parsing, so that a variable's value is never interpreted as YAML.
    if isinstance(value, str):
        return _VARIABLE_PATTERN.sub(
            lambda match: _look_up_variable(match[1], environment, location), value
        )
    if isinstance(value, list):
        return [_expand_variables(item, environment, location) for item in value]
    if isinstance(value, dict):
        return {key: _expand_variables(item, environment, location) for key, item in value.items()}
    return value


def _look_up_variable(name: str, environment: Mapping[str, str], location: str) -> str:
    try:
        return environment[name]
    except KeyError:
        raise ConfigurationError(
            f"{location}: the variable {name} is not set. Set it, or take ${{{name}}} out."
        ) from None
