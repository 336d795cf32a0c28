"""Checking JSON against a schema, in a process that can be stopped.

A schema may hold a pattern that takes for ever, or levels without end, and comes from a caller.
Reads `{"schema": …, "text": … or null}` and writes `{"data": …}` or `{"schema"|"answer": problem}`.
"""

import json
import math
import sys
from collections.abc import Iterator
from typing import Any

_SHOWN = 200
_SECONDS = 5
_BYTES = 1024**3
_ODD = (RecursionError, ArithmeticError, ValueError, TypeError, KeyError)


def main() -> None:
    """Answer one question on standard input."""
    _limit()
    try:
        question = json.loads(sys.stdin.buffer.read())
        outcome = _outcome(question["schema"], question["text"])
    except RecursionError:
        outcome = {"schema": "it has too many levels"}
    sys.stdout.write(json.dumps(outcome))


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows: the caller's clock alone stops us
        return
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))


def _outcome(schema: Any, text: str | None) -> dict[str, Any]:
    if problem := _schema_problem(schema):
        return {"schema": problem}
    if text is None:
        return {"data": None}
    try:
        data = json.loads(text, parse_constant=_refused)
        if not all(math.isfinite(number) for number in _floats(data)):
            return {"answer": "a number in it is beyond all bounds"}
    except _ODD:
        return {"answer": "it is no JSON"}
    return _checked(schema, data)


def _checked(schema: Any, data: Any) -> dict[str, Any]:
    try:
        problem = next(iter(_validator(schema).iter_errors(data)), None)
    except _ODD:
        return {"schema": "it cannot be applied to the answer"}
    if problem is None:
        return {"data": data}
    where = "/".join(str(step) for step in problem.absolute_path) or "the whole"
    return {"answer": f"{where}: {problem.message[:_SHOWN]}"}


def _validator(schema: Any) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # Its own registry would fetch whatever a schema refers to, from the web or the disk.
    return Draft202012Validator(schema, registry=Registry())


def _schema_problem(schema: Any) -> str | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        Draft202012Validator.check_schema(schema)
        resolver = DRAFT202012.create_resource(schema)
        lookup = Registry().with_resource("", resolver).resolver().lookup
        for reference in _references(schema):
            if not reference.startswith("#"):
                return f"{reference[:_SHOWN]}: a reference may only lead into the schema itself"
            lookup(reference)
        next(iter(_validator(schema).iter_errors(None)), None)
    except SchemaError as error:
        return error.message[:_SHOWN]
    except Unresolvable as error:
        return f"{error.ref[:_SHOWN]}: this reference leads nowhere"
    except _ODD:
        return "it refers to itself without end, or is none"
    return None


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


def _floats(node: Any) -> Iterator[float]:
    if isinstance(node, float):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _floats(item)


def _refused(name: str) -> Any:
    raise ValueError(name)


if __name__ == "__main__":
    main()
