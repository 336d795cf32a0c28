"""Reading one JSON-RPC message, or saying what is wrong with it."""

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

Message = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something is no message, and the id of the request it meant to be, if it had one."""

    code: int
    reason: str
    request_id: int | str | None = None
    data: Any = None

    def reply(self) -> bytes:
        """Return the error that the sender gets."""
        facts = {} if self.data is None else {"data": self.data}
        error = ErrorData(code=self.code, message=self.reason, **facts)
        return written(JSONRPCError(jsonrpc="2.0", id=self.request_id, error=error))


def written(message: Message) -> bytes:
    """Return a message as it goes over the wire."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def parse(data: bytes) -> Message | Fault:
    """Return the message that `data` holds, or what is wrong with it."""
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError:
        return _fault(data)
    # A request whose id makes no sense would pass for a notification, and wait forever.
    if isinstance(message, JSONRPCNotification) and b'"id"' in data and "id" in json.loads(data):
        return Fault(INVALID_REQUEST, "An id is a string or a number.")
    return message


def _fault(data: bytes) -> Fault:
    try:
        decoded = json.loads(data)
    except (ValueError, RecursionError):
        return Fault(PARSE_ERROR, "This is not JSON.")
    if isinstance(decoded, list):
        return Fault(INVALID_REQUEST, "Batches are not served: send one message at a time.")
    return Fault(INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.", _id_in(decoded))


def _id_in(decoded: Any) -> int | str | None:
    found = as_request_id(decoded.get("id")) if isinstance(decoded, dict) else None
    # JSON can spell half of a surrogate pair, which cannot be sent back.
    return None if isinstance(found, str) and not found.isprintable() else found
