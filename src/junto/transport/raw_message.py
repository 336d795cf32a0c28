"""Minimal parsing and encoding of JSON-RPC messages that the proxy forwards unchanged.

This module does not import the MCP SDK, because importing its models takes longer than the rest of
the proxy's startup.
"""

import re
from dataclasses import dataclass
from typing import Any

import orjson

_Json = dict[str, Any]

INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
_VERSION_META_KEY = "io.modelcontextprotocol/protocolVersion"
_VERSION_PATTERN = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message as received, with the fields that could be parsed."""

    line: bytes
    id: int | str | None = None
    method: str = ""
    params: _Json | None = None

    @classmethod
    def parse(cls, line: bytes) -> "RawMessage":
        """Parse a line; invalid fields keep their defaults, and the backend reports the error."""
        try:
            decoded = orjson.loads(line)
        except ValueError:
            return cls(line)
        if not isinstance(decoded, dict):
            return cls(line)
        id_, method, params = decoded.get("id"), decoded.get("method"), decoded.get("params")
        return cls(
            line,
            id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None,
            method if isinstance(method, str) else "",
            params if isinstance(params, dict) else None,
        )

    @property
    def is_request(self) -> bool:
        """Return whether the message is a request."""
        return self.id is not None and bool(self.method)

    @property
    def is_response(self) -> bool:
        """Return whether the message is a response."""
        return self.id is not None and not self.method

    @property
    def key(self) -> str:
        """Return the id as the SDK compares it: 7 and "7" are equal."""
        return str(self.id)

    @property
    def protocol_version(self) -> str:
        """Return the protocol version in the message's `_meta`, or an empty string."""
        meta = (self.params or {}).get("_meta")
        version = meta.get(_VERSION_META_KEY) if isinstance(meta, dict) else None
        return version if isinstance(version, str) and _VERSION_PATTERN.fullmatch(version) else ""

    def get_text_param(self, name: str) -> str:
        """Return a string parameter, or an empty string if it is missing or no string."""
        value = (self.params or {}).get(name)
        return value if isinstance(value, str) else ""


def encode_jsonrpc(**fields: Any) -> bytes:
    """Return a JSON-RPC message with the given fields."""
    return orjson.dumps({"jsonrpc": "2.0", **fields})


def encode_error(code: int, reason: str, request_id: int | str | None = None) -> bytes:
    """Return a JSON-RPC error response."""
    return encode_jsonrpc(id=request_id, error={"code": code, "message": reason})


def encode_failure(request: RawMessage, reason: str) -> bytes:
    """Return a retryable error for a request that no server answered.

    A tool call gets it as a tool result, any other request as a JSON-RPC error.
    """
    details = {"code": "NetworkError", "message": reason, "retryable": True}
    if request.method != "tools/call":
        error = {"code": INTERNAL_ERROR, "message": reason, "data": details}
        return encode_jsonrpc(id=request.id, error=error)
    result: _Json = {
        "content": [{"type": "text", "text": reason}],
        "structuredContent": details,
        "isError": True,
    }
    if request.protocol_version:  # version 2026-07-28 requires resultType
        result["resultType"] = "complete"
    return encode_jsonrpc(id=request.id, result=result)
