"""What stands around every call of a tool: its clock, its audit line, and the way errors leave."""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp.shared.exceptions import MCPError

from junto.domain.errors import CancelledCallError, JuntoError
from junto.security.secrets import Redactor
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.tools.tool import Call

_audit = Log.of("audit")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Guard:
    """Wraps the run of a tool, whichever it is."""

    metrics: Metrics
    redactor: Redactor

    async def around(
        self, tool: str, call: Call, run: Callable[[], Awaitable[T]]
    ) -> T | dict[str, Any]:
        """Run a tool; a foreseen failure becomes its result, anything else is let through."""
        started = time.perf_counter()
        outcome = "Crash"
        try:
            result = await run()
            outcome = "ok"
        except JuntoError as error:
            outcome = error.code
            return self._failure(error)
        except asyncio.CancelledError:
            outcome = CancelledCallError.code
            raise
        except MCPError:
            outcome = "ProtocolError"
            raise
        else:
            return result
        finally:
            seconds = time.perf_counter() - started
            self.metrics.tool_called(tool, outcome, seconds)
            self._record(tool, call, outcome, seconds)

    def _failure(self, error: JuntoError) -> dict[str, Any]:
        message = self.redactor.text(error.message)
        facts = {"code": error.code, "message": message, "retryable": error.retryable}
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
                arguments=_digest(call.params.arguments),
                outcome=outcome,
                milliseconds=round(seconds * 1000, 1),
            )


def _digest(arguments: dict[str, Any] | None) -> str:
    """Return a short fingerprint: enough to match two calls, nothing of what was in them."""
    text = json.dumps(arguments or {}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
