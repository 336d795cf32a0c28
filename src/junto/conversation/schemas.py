"""Answers as JSON: checks a schema, and parses an answer that must match it."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from junto.domain.errors import InvalidInputError, ModelError

_MAX_SCHEMA_BYTES = 256 * 1024
_WORKER_TIMEOUT_SECONDS = 10.0
_WORKER_COMMAND = (sys.executable, "-P", "-m", "junto.conversation.schema_worker")
_LIMIT_PROBLEM = "it takes too long, or too much, to check"


async def check_schema(schema: Mapping[str, Any]) -> None:
    """Reject an invalid schema before a model is asked.

    Raises:
        InvalidInputError: the schema is not valid, or has external references.
    """
    await _validate(schema, None)


async def parse_answer(text: str, schema: Mapping[str, Any] | None) -> Any:
    """Return the JSON in an answer, or None if there is no schema.

    Raises:
        ModelError: the answer does not match the schema.
    """
    return None if schema is None else await _validate(schema, _strip_code_fence(text))


async def _validate(schema: Mapping[str, Any], text: str | None) -> Any:
    try:
        request = json.dumps({"schema": dict(schema), "text": text}).encode()
    except (ValueError, RecursionError):
        raise InvalidInputError("schema: it has too many levels.") from None
    if len(request) > _MAX_SCHEMA_BYTES + len(text or "") * 6:
        raise InvalidInputError(f"schema: it is larger than {_MAX_SCHEMA_BYTES // 1024} KB.")
    result = await _run_worker(request)
    if "data" in result:
        return result["data"]
    if "schema" in result or (text is None and "answer" not in result):
        raise InvalidInputError(f"schema: {result.get('schema', _LIMIT_PROBLEM)}.")
    raise ModelError(
        f"The model's answer does not fit the schema: {result.get('answer', _LIMIT_PROBLEM)}",
        retryable=True,
    )


async def _run_worker(request: bytes) -> dict[str, Any]:
    """Return the result of a worker process, or an empty one if it times out or crashes."""
    process = await asyncio.create_subprocess_exec(
        *_WORKER_COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_WORKER_TIMEOUT_SECONDS):
            output, _ = await process.communicate(request)
        result: dict[str, Any] = json.loads(output)
    except (TimeoutError, ValueError):
        return {}
    else:
        return result
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _strip_code_fence(text: str) -> str:
    """Return a text without the code fence that some models put around JSON."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.removesuffix("```").partition("\n")[2]
    return stripped
