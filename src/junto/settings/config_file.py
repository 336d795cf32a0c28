"""Reading a YAML file into settings by path, with `${VARIABLES}` filled in."""

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from junto.domain.errors import ConfigurationError
from junto.settings.leaves import leaves

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_MERGE = "tag:yaml.org,2002:merge"
# What PyYAML lets through when a value is not what its tag says.
_CHOKES = (ValueError, KeyError, AttributeError, TypeError, RecursionError)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def read_file(
    path: Path, environment: Mapping[str, str], renamed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the settings in the file at `path`, by their paths in the tree.

    Keys may be written in snake_case or camelCase; `renamed` translates foreign ones.

    Raises:
        ConfigurationError: the file cannot be read, has a key that means nothing here, or names
            a variable that is not set.
    """
    document = _parsed(path)
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path}: it should hold settings such as `http:`, one per line.")
    values: dict[str, Any] = {}
    for key, value in _flat(document, "", path, renamed or {}):
        if key in values:
            raise ConfigurationError(f"{path}: {key}: it stands here twice, in two spellings.")
        try:
            values[key] = _filled(value, environment, f"{path}: {key}")
        except RecursionError:
            raise ConfigurationError(f"{path}: {key}: it contains itself.") from None
    return values


def _parsed(path: Path) -> Any:
    import yaml  # most starts have no file and need no parser

    try:
        document = yaml.load(path.read_text("utf-8"), _strict_loader())  # noqa: S506 - a safe one
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8 text.") from error
    except (yaml.YAMLError, *_CHOKES) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "it"
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise ConfigurationError(f"{path}: {where}: {problem}.") from error
    return {} if document is None else document


def _strict_loader() -> Any:
    import yaml

    class Strict(yaml.SafeLoader):
        """Refuses a key that stands twice, which YAML otherwise takes without a word."""

        @override
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if key.tag != _MERGE and key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value} stands here twice", problem_mark=key.start_mark
                    )
                if isinstance(key.value, str):
                    seen.add(key.value)
            return super().construct_mapping(node, deep)

    return Strict


def _flat(
    node: Mapping[Any, Any], prefix: str, path: Path, renamed: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    known = leaves()
    for raw, value in node.items():
        key = prefix + _HUMP.sub("_", str(raw)).lower()
        key = renamed.get(key, key)
        if key in known:
            if value is not None:
                yield key, value
        elif any(leaf.startswith(f"{key}.") for leaf in known):
            if not isinstance(value, dict | None):
                raise ConfigurationError(f"{path}: {key}: it should hold settings of its own.")
            yield from _flat(value or {}, f"{key}.", path, renamed)
        else:
            raise ConfigurationError(f"{path}: {key}: there is no such setting.{_guess(key)}")


def _guess(key: str) -> str:
    near = difflib.get_close_matches(key, leaves(), n=1)
    return f" Did you mean {near[0]}?" if near else " `junto config show` lists them all."


def _filled(value: Any, environment: Mapping[str, str], where: str) -> Any:
    # Values are filled in after parsing, so that a variable's content can never become YAML.
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(match[1], environment, where), value)
    if isinstance(value, list):
        return [_filled(item, environment, where) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, environment, where) for key, item in value.items()}
    return value


def _variable(name: str, environment: Mapping[str, str], where: str) -> str:
    try:
        return environment[name]
    except KeyError:
        raise ConfigurationError(
            f"{where}: the variable {name} is not set. Set it, or take ${{{name}}} out."
        ) from None
