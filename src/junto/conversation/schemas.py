"""Answers that must be JSON of a certain shape."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from junto.domain.errors import InvalidInputError, ModelError

_LARGEST = 256 * 1024
_SECONDS = 10.0
_CHILD = (sys.executable, "-P", "-m", "junto.conversation.schema_child")
_TOO_MUCH = "it takes too long, or too much, to check"


async def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a schema that is none, before anybody is asked.

    Raises:
        InvalidInputError: it is none, or leads elsewhere.
    """
    await _asked(schema, None)


async def checked(text: str, schema: Mapping[str, Any] | None) -> Any:
    """Return the JSON in an answer, if a schema was asked for.

    Raises:
        ModelError: the answer is not what the schema says.
    """
    return None if schema is None else await _asked(schema, _bare(text))


async def _asked(schema: Mapping[str, Any], text: str | None) -> Any:
    try:
        question = json.dumps({"schema": dict(schema), "text": text}).encode()
    except (ValueError, RecursionError):
        raise InvalidInputError("schema: it has too many levels.") from None
    if len(question) > _LARGEST + len(text or "") * 6:
        raise InvalidInputError(f"schema: it is larger than {_LARGEST // 1024} KB.")
    outcome = await _child(question)
    if "data" in outcome:
        return outcome["data"]
    if "schema" in outcome or (text is None and "answer" not in outcome):
        raise InvalidInputError(f"schema: {outcome.get('schema', _TOO_MUCH)}.")
    raise ModelError(
        f"The model's answer does not fit the schema: {outcome.get('answer', _TOO_MUCH)}",
        retryable=True,
    )


async def _child(question: bytes) -> dict[str, Any]:
    """Ask a process of its own, which is ended if it thinks too long."""
    process = await asyncio.create_subprocess_exec(
        *_CHILD,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            answer, _ = await process.communicate(question)
        found: dict[str, Any] = json.loads(answer)
    except (TimeoutError, ValueError):
        return {}
    else:
        return found
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _bare(text: str) -> str:
    """Return text without the fence that some models put around JSON."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.removesuffix("```").partition("\n")[2]
    return stripped
