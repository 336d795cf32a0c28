"""A JSON-RPC message that is passed on as it came, and the little that must be known about it.

Nothing here needs the SDK: importing its models takes longer than all the rest of a start.
"""

import re
from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
ENVELOPE_VERSION = "io.modelcontextprotocol/protocolVersion"
_PLAIN = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Raw:
    """One line, and what it says as far as it makes sense."""

    line: bytes
    id: int | str | None = None
    method: str = ""
    params: Json | None = None

    @classmethod
    def of(cls, line: bytes) -> "Raw":
        """Return what `line` says; what makes no sense is left to whoever answers it."""
        try:
            said = orjson.loads(line)
        except ValueError:
            return cls(line)
        if not isinstance(said, dict):
            return cls(line)
        found, method, params = said.get("id"), said.get("method"), said.get("params")
        return cls(
            line,
            found if isinstance(found, int | str) and not isinstance(found, bool) else None,
            method if isinstance(method, str) else "",
            params if isinstance(params, dict) else None,
        )

    @property
    def asks(self) -> bool:
        """Return whether somebody waits for an answer."""
        return self.id is not None and bool(self.method)

    @property
    def answers(self) -> bool:
        """Return whether it answers a request."""
        return self.id is not None and not self.method

    @property
    def key(self) -> str:
        """Return the id as the SDK compares it, to which 7 and "7" are the same."""
        return str(self.id)

    @property
    def version(self) -> str:
        """Return the version of the protocol that it carries with it, if it does."""
        meta = (self.params or {}).get("_meta")
        named = meta.get(ENVELOPE_VERSION) if isinstance(meta, dict) else None
        return named if isinstance(named, str) and _PLAIN.fullmatch(named) else ""

    def word(self, name: str) -> str:
        """Return a parameter that should be a text."""
        found = (self.params or {}).get(name)
        return found if isinstance(found, str) else ""


def message(**fields: Any) -> bytes:
    """Return a message of our own."""
    return orjson.dumps({"jsonrpc": "2.0", **fields})


def refusal(code: int, reason: str, request_id: int | str | None = None) -> bytes:
    """Return an error."""
    return message(id=request_id, error={"code": code, "message": reason})


def failure(asked: Raw, reason: str) -> bytes:
    """Return what whoever asked gets when nobody else answers: an error that may pass."""
    facts = {"code": "NetworkError", "message": reason, "retryable": True}
    if asked.method != "tools/call":
        error = {"code": INTERNAL_ERROR, "message": reason, "data": facts}
        return message(id=asked.id, error=error)
    result: Json = {
        "content": [{"type": "text", "text": reason}],
        "structuredContent": facts,
        "isError": True,
    }
    if asked.version:  # since 2026-07-28 a result says of itself that it is one
        result["resultType"] = "complete"
    return message(id=asked.id, result=result)
