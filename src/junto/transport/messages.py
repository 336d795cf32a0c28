"""Parsing and encoding of JSON-RPC messages, with an error reply for invalid ones."""

import json
from dataclasses import dataclass
from typing import Any

from mcp.shared.dispatcher import as_request_id
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

# A few megabytes of nested brackets become gigabytes of objects.
_MIN_COUNTED_BYTES, _MAX_CONTAINERS = 100_000, 200_000
Message = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """A JSON-RPC error for an invalid message, with the id of its request if that is known."""

    code: int
    reason: str
    request_id: int | str | None = None
    data: Any = None

    def encode(self) -> bytes:
        """Return the JSON-RPC error response."""
        optional = {} if self.data is None else {"data": self.data}
        error = ErrorData(code=self.code, message=self.reason, **optional)
        return encode_message(JSONRPCError(jsonrpc="2.0", id=self.request_id, error=error))


def encode_message(message: Message) -> bytes:
    """Return a message as JSON."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def parse_message(data: bytes) -> Message | ErrorReply:
    """Return the message in `data`, or an error reply if it is invalid."""
    if len(data) > _MIN_COUNTED_BYTES and data.count(b"[") + data.count(b"{") > _MAX_CONTAINERS:
        return ErrorReply(INVALID_REQUEST, "This message has too many lists and objects.")
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError:
        return _build_error_reply(data)
    # A request with an invalid id is parsed as a notification, and its sender would wait forever.
    if isinstance(message, JSONRPCNotification) and b'"id"' in data and "id" in json.loads(data):
        return ErrorReply(INVALID_REQUEST, "An id is a string or a number.")
    return message


def _build_error_reply(data: bytes) -> ErrorReply:
    try:
        decoded = json.loads(data)
    except (ValueError, RecursionError):
        return ErrorReply(PARSE_ERROR, "This is not JSON.")
    if isinstance(decoded, list):
        return ErrorReply(INVALID_REQUEST, "Batches are not served: send one message at a time.")
    return ErrorReply(INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.", _extract_id(decoded))


def _extract_id(decoded: Any) -> int | str | None:
    request_id = as_request_id(decoded.get("id")) if isinstance(decoded, dict) else None
    # JSON can contain lone surrogates, which cannot be encoded in the reply.
    return None if isinstance(request_id, str) and not request_id.isprintable() else request_id
