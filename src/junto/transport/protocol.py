"""A `Surface` as the SDK's server, which speaks every version of the protocol."""

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
from junto.security.secrets import Redactor
from junto.telemetry.traces import traced
from junto.tools.guard import crashed
from junto.tools.surface import Surface
from junto.tools.tasks import EXTENSION, TaskParams, UpdateParams
from junto.tools.tool import Call

Context = ServerRequestContext[Any, Any]
Page = PaginatedRequestParams | None

# What is offered changes only with a restart.
_LISTS = CacheHint(ttl_ms=60_000, scope="private")
_CACHE_HINTS: Any = {
    "tools/list": _LISTS,
    "prompts/list": _LISTS,
    "resources/list": _LISTS,
    "resources/templates/list": _LISTS,
    "server/discover": _LISTS,
    "resources/read": CacheHint(ttl_ms=0, scope="private"),
}


# The caller can mend these; all others are ours to mend.
_CALLERS_FAULT = (
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    SecurityError,
    ContextOverflowError,
)


@dataclass(frozen=True, slots=True)
class _Contained:
    """Gives all that a request does one trace id, and lets no internals out with an error."""

    redactor: Redactor

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        with traced(ctx.meta, ctx.request.headers if ctx.request else None):
            try:
                return await call_next(ctx)
            except (MCPError, ValidationError):
                raise
            except JuntoError as error:
                code = INVALID_PARAMS if isinstance(error, _CALLERS_FAULT) else INTERNAL_ERROR
                raise MCPError(code, self.redactor.text(error.message)) from error
            except Exception as error:
                raise crashed(error, "request crashed", method=ctx.method) from error


def _complete(result: Any) -> Any:
    """Say that a result is the whole answer, which 2026-07-28 wants said; older eras drop it."""
    return {"resultType": "complete", **result} if isinstance(result, dict) else result


class _Handlers:
    """One method of ours for each method of the protocol."""

    def __init__(self, surface: Surface) -> None:
        self._tools = surface.tools
        self._resources = surface.resources
        self._prompts = surface.prompts
        self._completions = surface.completions

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> Any:
        return _complete(await self._tools.call(Call(context=context, params=params)))

    async def list_tools(self, _context: Context, params: Page) -> Any:
        return _complete(self._tools.listed(_cursor(params)))

    async def list_resources(self, _context: Context, params: Page) -> Any:
        return _complete(self._resources.listed(_cursor(params)))

    async def list_templates(self, _context: Context, params: Page) -> Any:
        return _complete(self._resources.templates(_cursor(params)))

    async def read_resource(self, _context: Context, params: ReadResourceRequestParams) -> Any:
        return _complete(await self._resources.read(str(params.uri)))

    async def list_prompts(self, _context: Context, params: Page) -> Any:
        return _complete(self._prompts.listed(_cursor(params)))

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> Any:
        return _complete(await self._prompts.get(context, params))

    async def complete(self, _context: Context, params: CompleteRequestParams) -> Any:
        return _complete(await self._completions.of(params.ref, params.argument))

    async def set_level(self, _context: Context, _params: SetLevelRequestParams) -> EmptyResult:
        # Nothing to remember: what is sent to clients as a log is what they asked to be told.
        return EmptyResult()


def _cursor(params: Page) -> str | None:
    return params.cursor if params else None


def server_of(surface: Surface) -> Server[Any]:
    """Return a server that offers `surface`."""
    handlers = _Handlers(surface)
    server: Server[Any] = Server(
        surface.name,
        title=surface.title,
        version=surface.version,
        description=surface.description,
        instructions=surface.instructions,
        cache_hints=_CACHE_HINTS,
        # Without it the SDK lists all tools at each call over HTTP.
        get_tool_input_schema=surface.tools.header_schema,
        on_call_tool=handlers.call_tool,
        on_list_tools=handlers.list_tools,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    if surface.tasks:
        server.extensions[EXTENSION] = {}
        server.add_request_handler("tasks/get", TaskParams, surface.tasks.get)
        server.add_request_handler("tasks/update", UpdateParams, surface.tasks.update)
        server.add_request_handler("tasks/cancel", TaskParams, surface.tasks.cancel)
    server.middleware.append(_Contained(surface.redactor))
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, handlers.set_level)
    return server
