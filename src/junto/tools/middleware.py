"""Middleware around every tool call.

Each class holds the inner handler and does one thing. `TOOL_PIPELINE` lists them, outermost first;
the innermost handler runs the tool. A call that goes on as a job after its request was answered is
audited, measured and logged when the job ends, once, with the outcome of the job.
"""

import asyncio
import contextlib
import hashlib
import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError
from typing_extensions import override

from junto.domain.errors import CancelledCallError, InvalidInputError, JuntoError
from junto.domain.usage import RequestOrigin
from junto.security.redaction import Redactor
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage_recorder import UsageRecorder
from junto.tools.base import Result
from junto.tools.errors import build_error_result, build_internal_error, get_outcome
from junto.tools.job_calls import JobCalls
from junto.tools.result_paging import to_json
from junto.tools.schemas import format_problems
from junto.tools.tool import CallContext

_audit = Log.get("audit")
_log = Log.get("tools")

# A plain hash of short arguments could be guessed.
_DIGEST_KEY = secrets.token_bytes(16)
_MAX_LOGGED_CHARS = 2000
_MAX_NAME_CHARS = 100

R = TypeVar("R")
WireResult = dict[str, Any]
ToolHandler = Callable[[CallContext], Awaitable[WireResult]]


def allow_all(_call: CallContext) -> None:
    """Authorize every call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallServices:
    """What the middleware needs."""

    metrics: Metrics
    redactor: Redactor
    usage_recorder: UsageRecorder = field(default_factory=UsageRecorder)
    # Raises PermissionDeniedError for a call that its caller may not make.
    authorize: Callable[[CallContext], None] = allow_all
    # Runs calls of long-running tools; without it there must be no such tool.
    job_calls: JobCalls | None = None
    # Whether the text of a result is the JSON of its structured content.
    json_text: bool = False


@dataclass(frozen=True, slots=True)
class ToolMiddleware(ABC):
    """A handler that does one thing and leaves the rest to the inner one."""

    inner: ToolHandler
    services: CallServices

    @abstractmethod
    async def __call__(self, call: CallContext) -> WireResult:
        """Handle a call."""


class ErrorBoundary(ToolMiddleware):
    """Turns an expected failure into a result, and a bug into a protocol error without details."""

    @override
    async def __call__(self, call: CallContext) -> WireResult:
        call.outcome.observe(partial(self._log_failure, call))
        try:
            result = await self.inner(call)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task and task.cancelling():
                call.outcome.report(error)
                raise
            # Not this call was cancelled, but something it waited for.
            failure: JuntoError = CancelledCallError("The work was stopped before it was done.")
        except JuntoError as error:
            failure = error
        except MCPError as error:
            call.outcome.report(error)
            raise
        except Exception as error:
            call.outcome.report(error)
            raise build_internal_error() from error
        else:
            if not call.outcome.is_deferred:
                call.outcome.report(None)
            return result
        call.outcome.report(failure)
        return build_error_result(failure, self.services.redactor)

    def _log_failure(self, call: CallContext, error: BaseException | None) -> None:
        match error:
            case None | asyncio.CancelledError() | MCPError():
                return
            case JuntoError():
                reason = self.services.redactor.redact_text(error.message)
                _log.info("tool failed", tool=call.tool_name, code=error.code, reason=reason)
            case Exception():
                _log.exception("tool crashed", error, tool=call.tool_name)


class Audited(ToolMiddleware):
    """Writes one audit line per call: who called what, how it ended, how long it took."""

    @override
    async def __call__(self, call: CallContext) -> WireResult:
        call.outcome.observe(partial(self._record, call, time.perf_counter()))
        if _log.is_debug_enabled:
            arguments = _format_preview(call.params.arguments)
            _log.debug("tool called", tool=call.tool_name, arguments=arguments)
        result = await self.inner(call)
        if _log.is_debug_enabled:
            _log.debug("tool answered", tool=call.tool_name, result=_format_preview(result))
        return result

    def _record(self, call: CallContext, started: float, error: BaseException | None) -> None:
        if _audit.is_info_enabled:
            _audit.info(
                "call",
                tool=call.tool_name,
                caller=call.caller,
                arguments=hash_arguments(call.params.arguments),
                outcome=get_outcome(error),
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )


class Metered(ToolMiddleware):
    """Counts calls, failures and durations, for metrics and for the usage report."""

    @override
    async def __call__(self, call: CallContext) -> WireResult:
        call.outcome.observe(partial(self._record, call, time.perf_counter()))
        return await self.inner(call)

    def _record(self, call: CallContext, started: float, error: BaseException | None) -> None:
        seconds = time.perf_counter() - started
        self.services.metrics.record_tool_call(call.tool_name, get_outcome(error), seconds)
        origin = RequestOrigin(call.caller, call.tool_name)
        self.services.usage_recorder.record_tool_call(origin, failed=error is not None)


class Authorized(ToolMiddleware):
    """Refuses a call that its caller may not make."""

    @override
    async def __call__(self, call: CallContext) -> WireResult:
        if call.tool:
            self.services.authorize(call)
        return await self.inner(call)


class Validated(ToolMiddleware):
    """Refuses unknown tools, and arguments that do not fit the tool's model."""

    @override
    async def __call__(self, call: CallContext) -> WireResult:
        if call.tool is None:
            name = call.params.name[:_MAX_NAME_CHARS]
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}. tools/list shows what there is.")
        try:
            arguments = call.tool.arguments.model_validate(call.params.arguments or {})
        except ValidationError as error:
            raise InvalidInputError(format_problems(error, call.tool.arguments)) from None
        return await self.inner(replace(call, arguments=arguments))


class AsJob(ToolMiddleware):
    """Runs a call of a long-running tool as a job; a call within a job stays in that job."""

    @override
    async def __call__(self, call: CallContext) -> WireResult:
        if call.job or not (call.tool and call.tool.is_long_running):
            return await self.inner(call)
        job_calls = self.services.job_calls
        if job_calls is None:
            raise TypeError(f"{call.tool_name} is long-running, and there is no job service")
        handle = job_calls.start(call, self.inner, hash_arguments(call.params.arguments))
        return await job_calls.wait(handle, call)


TOOL_PIPELINE = (ErrorBoundary, Audited, Metered, Authorized, Validated, AsJob)


def build_handler(services: CallServices) -> ToolHandler:
    """Return the handler of all tool calls: the pipeline around the tool."""
    handler: ToolHandler = partial(run_tool, json_text=services.json_text)
    for middleware in reversed(TOOL_PIPELINE):
        handler = middleware(handler, services)
    return handler


async def run_tool(call: CallContext, *, json_text: bool = False) -> WireResult:
    """Run the tool and return its result as the protocol sends it."""
    if call.tool is None:
        raise TypeError("a call must be validated before it is run")
    output = await call.tool.run(call.arguments, call)
    if isinstance(output, Result):
        return output.to_wire(json_text=json_text)
    return to_json(output)


async def observe_call(
    call: CallContext, handler: Callable[[CallContext], Awaitable[R]], services: CallServices
) -> R:
    """Run the call of another server's tool, audited and counted like one of our own."""
    # Both pass on whatever the handler returns.
    inner = Metered(cast("ToolHandler", handler), services)
    observed = cast("Callable[[CallContext], Awaitable[R]]", Audited(inner, services))
    try:
        result = await observed(call)
    except BaseException as error:
        call.outcome.report(error)
        raise
    call.outcome.report(None)
    return result


def hash_arguments(arguments: dict[str, Any] | None) -> str:
    """Return a keyed hash, which matches equal calls of one process and reveals nothing."""
    text = json.dumps(arguments or {}, sort_keys=True, default=str)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8, key=_DIGEST_KEY).hexdigest()


def _format_preview(value: Any) -> str:
    """Return the beginning of arguments or of a result, for the debug log."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        return json.dumps(value, default=str, ensure_ascii=False)[:_MAX_LOGGED_CHARS]
    return "(cannot be shown)"
