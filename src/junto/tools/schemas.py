"""Compact JSON schemas of tools, and validation errors that a model can act on."""

import difflib
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_MAX_PROBLEMS = 5
# Omitted to save tokens; the constraints are still checked and explained by validation errors.
_OMITTED_KEYWORDS = frozenset(
    {
        "$defs", "title", "additionalProperties", "pattern", "minLength", "maxLength", "minItems",
        "maxItems", "exclusiveMinimum", "exclusiveMaximum",
    }
)  # fmt: skip
_MAX_LOCATION_CHARS = 100
# How similar a name must be to be suggested; 1 is the same.
_MIN_SIMILARITY = 0.75


def build_input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's arguments."""
    schema: dict[str, Any] = _compact(_drop_description(model.model_json_schema(by_alias=True)), {})
    return schema


def build_output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's result: the fields that are always present, and their types.

    Nothing in it is required, because some clients (such as the TypeScript SDK 1.x) also validate
    the structured content of errors against it. Optional fields, and what is inside objects and
    lists, are omitted to save tokens.
    """
    schema = _compact(model.model_json_schema(by_alias=True, mode="validation"), {})
    names = schema.get("required", ())
    return {
        "type": "object",
        "properties": {name: _keep_type(schema["properties"][name]) for name in names},
    }


def _keep_type(node: dict[str, Any]) -> dict[str, Any]:
    return {"type": node["type"]} if "type" in node else {}


def _drop_description(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove the docstring of the model, which is meant for readers of the source."""
    return {key: value for key, value in schema.items() if key != "description"}


def _compact(node: Any, definitions: dict[str, Any]) -> Any:
    """Inline definitions, drop omitted keywords, and reduce optional types to the type itself."""
    if isinstance(node, list):
        return [_compact(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    definitions = definitions | node.get("$defs", {})
    if "$ref" in node:
        target = _drop_description(definitions[node["$ref"].rsplit("/", 1)[1]])
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _compact(target | rest, definitions)
    if "anyOf" in node:
        variants = [variant for variant in node["anyOf"] if variant != {"type": "null"}]
        if len(variants) == 1:
            rest = {key: value for key, value in node.items() if key != "anyOf"}
            return _compact(variants[0] | rest, definitions)
    # That a number is not negative goes without saying.
    is_obvious = "maximum" not in node and node.get("minimum") in (0, 1)
    return {
        key: _compact_properties(value, definitions)
        if key == "properties"
        else _compact(value, definitions)
        for key, value in node.items()
        if key not in _OMITTED_KEYWORDS
        and not (key == "default" and not value)
        and not (key == "minimum" and is_obvious)
    }


def _compact_properties(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    # Property names are not keywords: a property may be called "title".
    return {name: _compact(schema, definitions) for name, schema in node.items()}


def format_problems(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one line per problem that says how to fix the arguments."""
    details = error.errors(include_url=False, include_context=False)
    lines = [_format_problem(detail, model) for detail in details[:_MAX_PROBLEMS]]
    if len(details) > _MAX_PROBLEMS:
        lines.append(f"and {len(details) - _MAX_PROBLEMS} more.")
    return "\n".join(lines)


def _format_problem(detail: ErrorDetails, model: type[BaseModel]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in detail["loc"])
    location = "".join(steps).removeprefix(".")[:_MAX_LOCATION_CHARS] or "arguments"
    match detail["type"]:
        case "missing":
            return f"{location} is required."
        case "extra_forbidden":
            hint = _format_suggestion(location, model) if len(detail["loc"]) == 1 else ""
            return f"There is no argument {location}.{hint}"
        case _:
            return f"{location}: {detail['msg'].removeprefix('Value error, ')}."


def _format_suggestion(name: str, model: type[BaseModel]) -> str:
    names = {
        (field.alias or each).casefold(): field.alias or each
        for each, field in model.model_fields.items()
    }
    close = difflib.get_close_matches(name.replace("_", "").casefold(), names, 1, _MIN_SIMILARITY)
    question = f" Did you mean {names[close[0]]}?" if close else ""
    return f"{question} The tool takes: {_format_argument_names(model)}."


def _format_argument_names(model: type[BaseModel]) -> str:
    fields = model.model_fields
    return ", ".join(field.alias or name for name, field in fields.items()) or "no arguments"
