"""Builds the SDK's server, which speaks every protocol version, from a `ServerSpec`."""

from dataclasses import dataclass
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CompleteRequestParams,
    EmptyResult,
    GetPromptRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
)
from pydantic import ValidationError

from junto.domain.errors import (
    ContextOverflowError,
    InvalidInputError,
    JuntoError,
    NotFoundError,
    PermissionDeniedError,
    SecurityError,
)
from junto.security.redaction import Redactor
from junto.telemetry.trace_context import start_trace
from junto.tools.errors import log_internal_error
from junto.tools.server_spec import ServerSpec
from junto.tools.tasks import TASKS_EXTENSION, TaskParams, UpdateTaskParams

_Context = ServerRequestContext[Any, Any]
_PageParams = PaginatedRequestParams | None

# Lists change only with a restart.
_LIST_CACHE_HINT = CacheHint(ttl_ms=60_000, scope="private")
_CACHE_HINTS: Any = {
    "tools/list": _LIST_CACHE_HINT,
    "prompts/list": _LIST_CACHE_HINT,
    "resources/list": _LIST_CACHE_HINT,
    "resources/templates/list": _LIST_CACHE_HINT,
    "server/discover": _LIST_CACHE_HINT,
    "resources/read": CacheHint(ttl_ms=0, scope="private"),
}


# Errors that the caller can correct; all others are internal.
_CLIENT_ERRORS = (
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    SecurityError,
    ContextOverflowError,
)


@dataclass(frozen=True, slots=True)
class _RequestErrorBoundary:
    """Gives a request its trace id, and removes internals from its errors."""

    redactor: Redactor

    async def __call__(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        with start_trace(ctx.meta, ctx.request.headers if ctx.request else None):
            try:
                return await call_next(ctx)
            except (MCPError, ValidationError):
                raise
            except JuntoError as error:
                code = INVALID_PARAMS if isinstance(error, _CLIENT_ERRORS) else INTERNAL_ERROR
                raise MCPError(code, self.redactor.redact_text(error.message)) from error
            except Exception as error:
                raise log_internal_error(error, "request crashed", method=ctx.method) from error


def _mark_complete(result: Any) -> Any:
    """Mark a result as complete, as 2026-07-28 requires; older versions ignore the mark."""
    return {"resultType": "complete", **result} if isinstance(result, dict) else result


class _Handlers:
    """One handler for each method of the protocol."""

    def __init__(self, spec: ServerSpec) -> None:
        self._tools = spec.tools
        self._resources = spec.resources
        self._prompts = spec.prompts
        self._completions = spec.completions

    async def call_tool(self, context: _Context, params: CallToolRequestParams) -> Any:
        return _mark_complete(await self._tools.handle(self._tools.build_call(context, params)))

    async def list_tools(self, _context: _Context, params: _PageParams) -> Any:
        return _mark_complete(self._tools.list_page(_get_cursor(params)))

    async def list_resources(self, _context: _Context, params: _PageParams) -> Any:
        return _mark_complete(self._resources.list_page(_get_cursor(params)))

    async def list_templates(self, _context: _Context, params: _PageParams) -> Any:
        return _mark_complete(self._resources.list_template_page(_get_cursor(params)))

    async def read_resource(self, _context: _Context, params: ReadResourceRequestParams) -> Any:
        return _mark_complete(await self._resources.read(str(params.uri)))

    async def list_prompts(self, _context: _Context, params: _PageParams) -> Any:
        return _mark_complete(self._prompts.list_page(_get_cursor(params)))

    async def get_prompt(self, context: _Context, params: GetPromptRequestParams) -> Any:
        return _mark_complete(await self._prompts.get(context, params))

    async def complete(self, _context: _Context, params: CompleteRequestParams) -> Any:
        return _mark_complete(await self._completions.complete(params.ref, params.argument))

    async def set_level(self, _context: _Context, _params: SetLevelRequestParams) -> EmptyResult:
        # Nothing to store: only messages that a client asked for are sent to it.
        return EmptyResult()


def _get_cursor(params: _PageParams) -> str | None:
    return params.cursor if params else None


def build_mcp_server(spec: ServerSpec) -> Server[Any]:
    """Return the SDK's server for `spec`."""
    handlers = _Handlers(spec)
    server: Server[Any] = Server(
        spec.name,
        title=spec.title,
        version=spec.version,
        description=spec.description,
        instructions=spec.instructions,
        cache_hints=_CACHE_HINTS,
        # Without it, the SDK lists all tools on each call over HTTP.
        get_tool_input_schema=spec.tools.header_schema,
        on_call_tool=handlers.call_tool,
        on_list_tools=handlers.list_tools,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    if spec.tasks:
        server.extensions[TASKS_EXTENSION] = {}
        server.add_request_handler("tasks/get", TaskParams, spec.tasks.get)
        server.add_request_handler("tasks/update", UpdateTaskParams, spec.tasks.update)
        server.add_request_handler("tasks/cancel", TaskParams, spec.tasks.cancel)
    server.middleware.append(_RequestErrorBoundary(spec.redactor))
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, handlers.set_level)
    return server
