"""JSON schemas that say what matters in few tokens, and validation errors that a model can mend."""

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_MOST_PROBLEMS = 5
# What is checked all the same, and explained to whoever gets it wrong, need not be told to all.
_UNTOLD = frozenset(
    {
        "$defs", "title", "additionalProperties", "pattern", "minLength", "maxLength", "minItems",
        "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    }
)  # fmt: skip
_SHOWN = 100


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's arguments."""
    schema: dict[str, Any] = _compact(_undocumented(model.model_json_schema(by_alias=True)), {})
    return schema


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's result: the fields that are always there.

    Nothing in it is required: an error's structured content is checked against it too (by the
    TypeScript SDK's client of version 1, for one), and has other fields. And all tools together
    should leave a client's model room to think.
    """
    fields = model.model_fields.items()
    names = [field.serialization_alias or name for name, field in fields if field.is_required()]
    return {"type": "object", "properties": {name: {} for name in names}}


def _undocumented(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out the model's docstring, which is for readers of the source."""
    return {key: value for key, value in schema.items() if key != "description"}


def _compact(node: Any, definitions: dict[str, Any]) -> Any:
    """Inline definitions, drop titles, and say `string` where pydantic says string or null."""
    if isinstance(node, list):
        return [_compact(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    definitions = definitions | node.get("$defs", {})
    if "$ref" in node:
        target = _undocumented(definitions[node["$ref"].rsplit("/", 1)[1]])
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _compact(target | rest, definitions)
    if "anyOf" in node:
        kinds = [kind for kind in node["anyOf"] if kind != {"type": "null"}]
        if len(kinds) == 1:
            rest = {key: value for key, value in node.items() if key != "anyOf"}
            return _compact(kinds[0] | rest, definitions)
    return {
        key: _properties(value, definitions)
        if key == "properties"
        else _compact(value, definitions)
        for key, value in node.items()
        if key not in _UNTOLD and not (key == "default" and not value)
    }


def _properties(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    # A property may well be called "title": names are not keywords.
    return {name: _compact(schema, definitions) for name, schema in node.items()}


def problems(error: ValidationError, model: type[BaseModel]) -> str:
    """Say in one line per fault what to change about the arguments."""
    details = error.errors(include_url=False, include_context=False)
    lines = [_problem(detail, model) for detail in details[:_MOST_PROBLEMS]]
    if len(details) > _MOST_PROBLEMS:
        lines.append(f"and {len(details) - _MOST_PROBLEMS} more.")
    return "\n".join(lines)


def _problem(detail: ErrorDetails, model: type[BaseModel]) -> str:
    where = ".".join(str(step) for step in detail["loc"])[:_SHOWN] or "arguments"
    match detail["type"]:
        case "missing":
            return f"{where} is required."
        case "extra_forbidden":
            known = f" The tool takes: {_names(model)}." if len(detail["loc"]) == 1 else ""
            return f"There is no argument {where}.{known}"
        case _:
            return f"{where}: {detail['msg'].removeprefix('Value error, ')}."


def _names(model: type[BaseModel]) -> str:
    fields = model.model_fields
    return ", ".join(field.alias or name for name, field in fields.items()) or "no arguments"
