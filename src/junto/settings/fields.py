"""The tree seen as a flat list of leaves, each with its path, its variable and what it takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from junto.settings.entries import ModelEntry, ServerEntry
from junto.settings.tree import Settings


@dataclass(frozen=True, slots=True)
class Leaf:
    """One setting: `http.port`, also known as `JUNTO_HTTP_PORT`."""

    path: str
    field: FieldInfo

    @property
    def variable(self) -> str:
        """Return the environment variable that sets it."""
        return "JUNTO_" + self.path.upper().replace(".", "_")

    @property
    def is_structured(self) -> bool:
        """Return whether it holds several values, by place or by name."""
        return get_origin(self.field.annotation) in (tuple, dict)

    @property
    def is_secret(self) -> bool:
        """Return whether its value is a secret, or has secrets inside."""
        return not {SecretStr, ModelEntry, ServerEntry}.isdisjoint(_kinds(self.field.annotation))

    @property
    def description(self) -> str:
        """Return what it is for."""
        return self.field.description or ""

    @property
    def default(self) -> Any:
        """Return its value when nobody sets it."""
        return self.field.get_default(call_default_factory=True)


@cache
def leaves() -> dict[str, Leaf]:
    """Return every setting by its path, in the order of the tree."""
    return {leaf.path: leaf for leaf in _walk(Settings, "")}


def _walk(section: type[BaseModel], prefix: str) -> Iterator[Leaf]:
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _walk(kind, f"{prefix}{name}.")
        else:
            yield Leaf(prefix + name, field)


def takes(path: str) -> str:
    """Say in a few words which values the setting at `path` accepts."""
    schema = _schema()
    definitions = schema.get("$defs", {})
    node = schema
    for step in path.split("."):
        node = _resolved(node["properties"][step], definitions)
    return _words(node, definitions)


@cache
def _schema() -> dict[str, Any]:
    # It takes a moment to make, and a page asks for it once for each setting.
    return Settings.model_json_schema()


def _resolved(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target: dict[str, Any] = definitions[node["$ref"].rsplit("/", 1)[1]]
        return target | node
    return node


def _words(node: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "takes" in node:
        return str(node["takes"])
    if "anyOf" in node:
        kinds = [_resolved(kind, definitions) for kind in node["anyOf"]]
        return " or ".join(_words(k, definitions) for k in kinds if k.get("type") != "null")
    if "enum" in node:
        return "one of " + ", ".join(node["enum"])
    match node.get("type"):
        case "integer":
            return "a whole number" + _range(node)
        case "number":
            return "a number" + _range(node)
        case "boolean":
            return "true or false"
        case "array" if "$ref" in node.get("items", {}):
            return "a list of entries, in the environment as JSON"
        case "array":
            return "a list of names, in the environment separated by commas"
        case "object":
            named = _resolved(node["additionalProperties"], definitions)
            return f"names with {_words(named, definitions)} each, in the environment as JSON"
        case _:
            return "a path" if node.get("format") == "path" else "text"


def _range(node: dict[str, Any]) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" of at least {low}" if low is not None else ""


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield all that an annotation is made of."""
    parts = get_args(annotation)
    if not parts:
        yield annotation
    for part in parts:
        if get_args(part) or isinstance(part, type):
            yield from _kinds(part)
