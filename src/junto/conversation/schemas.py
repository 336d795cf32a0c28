"""Answers that must be JSON of a certain shape."""

import json
from collections.abc import Mapping
from typing import Any

from junto.domain.errors import InvalidInputError, ModelError

_SHOWN = 200


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a schema that is none, before anybody is asked.

    Raises:
        InvalidInputError: it is none.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        raise InvalidInputError(f"schema: {error.message[:_SHOWN]}.") from None


def checked(text: str, schema: Mapping[str, Any] | None) -> Any:
    """Return the JSON in an answer, if a schema was asked for.

    Raises:
        ModelError: the answer is not what the schema says.
    """
    if schema is None:
        return None
    from jsonschema import Draft202012Validator

    try:
        data = json.loads(_bare(text))
    except ValueError:
        raise ModelError(
            "The model's answer is no JSON, although a schema was asked for.", retryable=True
        ) from None
    problem = next(iter(Draft202012Validator(dict(schema)).iter_errors(data)), None)
    if problem is not None:
        where = "/".join(str(step) for step in problem.absolute_path) or "the whole"
        raise ModelError(
            f"The model's answer does not fit the schema: {where}: {problem.message[:_SHOWN]}",
            retryable=True,
        )
    return data


def _bare(text: str) -> str:
    """Return text without the fence that some models put around JSON."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.removesuffix("```").partition("\n")[2]
    return stripped
