"""A flat view of the settings: the path, environment variable and type of each one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from junto.settings.list_entries import ModelEntry, ServerEntry
from junto.settings.schema import Settings


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting, such as `http.port`, which is also `JUNTO_HTTP_PORT`."""

    path: str
    info: FieldInfo

    @property
    def variable(self) -> str:
        """Return the environment variable that sets this setting."""
        return "JUNTO_" + self.path.upper().replace(".", "_")

    @property
    def is_structured(self) -> bool:
        """Return whether the value is a sequence or a mapping."""
        return get_origin(self.info.annotation) in (tuple, dict)

    @property
    def is_secret(self) -> bool:
        """Return whether the value is or contains a secret."""
        return not {SecretStr, ModelEntry, ServerEntry}.isdisjoint(
            _iter_types(self.info.annotation)
        )

    @property
    def description(self) -> str:
        """Return what the setting is for."""
        return self.info.description or ""

    @property
    def default(self) -> Any:
        """Return the default value."""
        return self.info.get_default(call_default_factory=True)


@cache
def collect_fields() -> dict[str, SettingField]:
    """Return every setting by its path, in declaration order."""
    return {field.path: field for field in _walk(Settings, "")}


def _walk(section: type[BaseModel], prefix: str) -> Iterator[SettingField]:
    for name, info in section.model_fields.items():
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _walk(annotation, f"{prefix}{name}.")
        else:
            yield SettingField(prefix + name, info)


def describe_type(path: str) -> str:
    """Describe in a few words which values the setting at `path` accepts."""
    schema = _build_json_schema()
    definitions = schema.get("$defs", {})
    node = schema
    for step in path.split("."):
        node = _resolve_ref(node["properties"][step], definitions)
    return _describe_schema(node, definitions)


@cache
def _build_json_schema() -> dict[str, Any]:
    # Slow to build, and the settings reference needs it once per setting.
    return Settings.model_json_schema()


def _resolve_ref(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target: dict[str, Any] = definitions[node["$ref"].rsplit("/", 1)[1]]
        return target | node
    return node


def _describe_schema(node: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "accepts" in node:
        return str(node["accepts"])
    if "anyOf" in node:
        options = [_resolve_ref(option, definitions) for option in node["anyOf"]]
        return " or ".join(
            _describe_schema(option, definitions)
            for option in options
            if option.get("type") != "null"
        )
    if "enum" in node:
        return "one of " + ", ".join(node["enum"])
    match node.get("type"):
        case "integer":
            return "a whole number" + _describe_range(node)
        case "number":
            return "a number" + _describe_range(node)
        case "boolean":
            return "true or false"
        case "array" if "$ref" in node.get("items", {}):
            return "a list of entries, in the environment as JSON"
        case "array":
            return "a list of names, in the environment separated by commas"
        case "object":
            value_schema = _resolve_ref(node["additionalProperties"], definitions)
            values = _describe_schema(value_schema, definitions)
            return f"names with {values} each, in the environment as JSON"
        case _:
            return "a path" if node.get("format") == "path" else "text"


def _describe_range(node: dict[str, Any]) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" of at least {low}" if low is not None else ""


def _iter_types(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation is composed of."""
    parts = get_args(annotation)
    if not parts:
        yield annotation
    for part in parts:
        if get_args(part) or isinstance(part, type):
            yield from _iter_types(part)
