"""How a failed tool call ends: as a result that a model can act on, or as a protocol error."""

import asyncio
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from junto.domain.errors import CancelledCallError, JuntoError
from junto.security.redaction import Redactor
from junto.telemetry.logs import Log
from junto.telemetry.trace_context import get_trace_id

_log = Log.get("tools")


def build_error_result(error: JuntoError, redactor: Redactor) -> dict[str, Any]:
    """Return an expected failure as a tool result; the only place where one becomes the other."""
    message = redactor.redact_text(error.message)
    content = {"code": error.code, "message": message, "retryable": error.retryable}
    content |= redactor.redact_fields(error.details)
    if error.retry_after is not None:
        content["retryAfter"] = error.retry_after
    return {
        "content": [{"type": "text", "text": message}],
        "structuredContent": content,
        "isError": True,
    }


def build_internal_error() -> MCPError:
    """Return the protocol error for a bug: the trace id, and nothing about the cause."""
    return MCPError(
        INTERNAL_ERROR,
        f"Something failed inside Junto; its log tells what: trace {get_trace_id()}.",
    )


def log_internal_error(error: Exception, event: str, **fields: Any) -> MCPError:
    """Log a bug with its traceback, and return the protocol error for the caller."""
    _log.exception(event, error, **fields)
    return build_internal_error()


def get_outcome(error: BaseException | None) -> str:
    """Return the word under which the end of a call is audited and counted."""
    match error:
        case None:
            return "ok"
        case JuntoError():
            return error.code
        case asyncio.CancelledError():
            return CancelledCallError.code
        case MCPError():
            return "ProtocolError"
        case _:
            return "Crash"
