"""What stands around every call of a tool: its clock, its audit line, and the way errors leave."""

import asyncio
import contextlib
import hashlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from pydantic import ValidationError

from junto.domain.errors import CancelledCallError, JuntoError
from junto.domain.usage import Origin
from junto.security.secrets import Redactor
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.telemetry.traces import current_trace
from junto.telemetry.usage import UsageBook
from junto.tools.tool import Call

_audit = Log.of("audit")
_log = Log.of("tools")

# Short arguments could be guessed from a plain hash.
_KEY = secrets.token_bytes(16)

# Of arguments and results in the log.
_LONGEST = 2000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Guard:
    """Wraps the run of a tool, whichever it is."""

    metrics: Metrics
    redactor: Redactor
    book: UsageBook = field(default_factory=UsageBook)

    async def around(
        self, tool: str, call: Call, run: Callable[[], Awaitable[T]]
    ) -> T | dict[str, Any]:
        """Run a tool; a foreseen failure becomes its result, anything else is let through."""
        started = time.perf_counter()
        outcome = "Crash"
        if _log.detailed:
            _log.debug("tool called", tool=tool, arguments=_brief(call.params.arguments))
        try:
            result = await run()
            outcome = "ok"
            if _log.detailed:
                _log.debug("tool answered", tool=tool, result=_brief(result))
        except JuntoError as error:
            outcome = error.code
            return self.failure(tool, error)
        except asyncio.CancelledError:
            outcome = CancelledCallError.code
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # Not this call was stopped, but something that it waited for.
            stopped = CancelledCallError("The work was stopped before it was done.")
            return self.failure(tool, stopped)
        except MCPError:
            outcome = "ProtocolError"
            raise
        except ValidationError as error:
            # The SDK would take it for a fault of the caller, and log nothing.
            raise TypeError(f"{tool} does not keep to its own models") from error
        else:
            return result
        finally:
            with contextlib.suppress(Exception):  # counting must never cost a result
                seconds = time.perf_counter() - started
                self.metrics.tool_called(tool, outcome, seconds)
                self.book.tool_called(Origin(call.caller, tool), failed=outcome != "ok")
                self._record(tool, call, outcome, seconds)

    def failure(self, tool: str, error: JuntoError) -> dict[str, Any]:
        """Return a foreseen failure as the result of a call."""
        message = self.redactor.text(error.message)
        _log.info("tool failed", tool=tool, code=error.code, reason=message)
        facts = {"code": error.code, "message": message, "retryable": error.retryable}
        facts |= error.facts
        if error.retry_after is not None:
            facts["retryAfter"] = error.retry_after
        return {
            "content": [{"type": "text", "text": message}],
            "structuredContent": facts,
            "isError": True,
        }

    def _record(self, tool: str, call: Call, outcome: str, seconds: float) -> None:
        if _audit.wanted:
            _audit.info(
                "call",
                tool=tool,
                caller=call.caller,
                arguments=digest(call.params.arguments),
                outcome=outcome,
                milliseconds=round(seconds * 1000, 1),
            )


def crashed(error: Exception, event: str, **facts: Any) -> MCPError:
    """Log a failure that nobody foresaw, and return what a caller may know of it."""
    _log.crash(event, error, **facts)
    trace = current_trace()
    return MCPError(
        INTERNAL_ERROR, f"Something failed inside Junto; its log tells what: trace {trace}."
    )


def _brief(value: Any) -> str:
    """Return the beginning of arguments or of a result, for whoever looks for a fault."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        return json.dumps(value, default=str, ensure_ascii=False)[:_LONGEST]
    return "(cannot be shown)"


def digest(arguments: dict[str, Any] | None) -> str:
    """Return a fingerprint: enough to match two calls of one process, and to guess neither."""
    text = json.dumps(arguments or {}, sort_keys=True, default=str)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8, key=_KEY).hexdigest()
