"""Validates JSON against a schema, in a process that can be killed.

Schemas come from callers: a pattern may never terminate, and nesting may have no limit.
Reads `{"schema": …, "text": … or null}` and writes `{"data": …}` or `{"schema"|"answer": problem}`.
"""

import json
import math
import sys
from collections.abc import Iterator
from typing import Any

_MAX_PROBLEM_CHARS = 200
_MAX_CPU_SECONDS = 5
_MAX_MEMORY_BYTES = 1024**3
_INPUT_ERRORS = (RecursionError, ArithmeticError, ValueError, TypeError, KeyError)


def main() -> None:
    """Answer one request from standard input."""
    _limit_resources()
    try:
        request = json.loads(sys.stdin.buffer.read())
        result = _check(request["schema"], request["text"])
    except RecursionError:
        result = {"schema": "it has too many levels"}
    sys.stdout.write(json.dumps(result))


def _limit_resources() -> None:
    try:
        import resource
    except ImportError:  # on Windows, only the caller's timeout applies
        return
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_SECONDS, _MAX_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))


def _check(schema: Any, text: str | None) -> dict[str, Any]:
    if problem := _find_schema_problem(schema):
        return {"schema": problem}
    if text is None:
        return {"data": None}
    try:
        data = json.loads(text, parse_constant=_reject_constant)
        if not all(math.isfinite(number) for number in _iter_floats(data)):
            return {"answer": "a number in it is beyond all bounds"}
    except _INPUT_ERRORS:
        return {"answer": "it is no JSON"}
    return _validate(schema, data)


def _validate(schema: Any, data: Any) -> dict[str, Any]:
    try:
        problem = next(iter(_build_validator(schema).iter_errors(data)), None)
    except _INPUT_ERRORS:
        return {"schema": "it cannot be applied to the answer"}
    if problem is None:
        return {"data": data}
    where = "/".join(str(key) for key in problem.absolute_path) or "the whole"
    return {"answer": f"{where}: {problem.message[:_MAX_PROBLEM_CHARS]}"}


def _build_validator(schema: Any) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # The default registry would fetch references from the web or the disk.
    return Draft202012Validator(schema, registry=Registry())


def _find_schema_problem(schema: Any) -> str | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        Draft202012Validator.check_schema(schema)
        resource = DRAFT202012.create_resource(schema)
        lookup = Registry().with_resource("", resource).resolver().lookup
        for reference in _iter_references(schema):
            if not reference.startswith("#"):
                return (
                    f"{reference[:_MAX_PROBLEM_CHARS]}: "
                    "a reference may only lead into the schema itself"
                )
            lookup(reference)
        next(iter(_build_validator(schema).iter_errors(None)), None)
    except SchemaError as error:
        return error.message[:_MAX_PROBLEM_CHARS]
    except Unresolvable as error:
        return f"{error.ref[:_MAX_PROBLEM_CHARS]}: this reference leads nowhere"
    except _INPUT_ERRORS:
        return "it refers to itself without end, or is none"
    return None


def _iter_references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _iter_references(value)
    elif isinstance(node, list):
        for item in node:
            yield from _iter_references(item)


def _iter_floats(node: Any) -> Iterator[float]:
    if isinstance(node, float):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _iter_floats(item)


def _reject_constant(name: str) -> Any:
    raise ValueError(name)


if __name__ == "__main__":
    main()
