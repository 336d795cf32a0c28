"""The tools of a server: listed for clients, looked up by name, called through the pipeline."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.shared.inbound import x_mcp_header_map
from mcp_types import CallToolRequestParams
from pydantic.alias_generators import to_camel

from junto.domain.errors import ConfigurationError
from junto.tools.middleware import CallServices, build_handler, observe_call
from junto.tools.pagination import build_page
from junto.tools.schemas import build_input_schema, build_output_schema
from junto.tools.tool import CallContext, Group, Tool

_MAX_NAME_CHARS = 100

R = TypeVar("R")


@dataclass(frozen=True)
class _RegisteredTool:
    """A tool, with its schemas compiled on first use."""

    tool: Tool[Any]
    json_text: bool

    @cached_property
    def definition(self) -> dict[str, Any]:
        tool = self.tool
        definition = {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": build_input_schema(tool.arguments),
            "annotations": tool.hints.to_wire(),
        }
        if tool.result and tool.result.is_structured(json_text=self.json_text):
            definition["outputSchema"] = build_output_schema(tool.result)
        return definition

    @cached_property
    def has_header_arguments(self) -> bool:
        return bool(x_mcp_header_map(self.definition["inputSchema"]))


class Registry:
    """Every enabled tool, in a fixed order; `handle` is the pipeline that runs a call."""

    def __init__(
        self,
        tools: Iterable[Tool[Any]],
        *,
        services: CallServices,
        disabled: Iterable[str] = (),
        page_size: int = 50,
    ) -> None:
        """Register `tools`, except those whose name or group is in `disabled`.

        Raises:
            ConfigurationError: `disabled` has a name that no tool or group has.
        """
        every = list(tools)
        hidden = frozenset(_check_disabled(disabled, every))
        self._tools = [
            _RegisteredTool(tool, services.json_text)
            for tool in every
            if tool.name not in hidden and tool.group not in hidden
        ]
        self._page_size = page_size
        self._by_name: dict[str, _RegisteredTool] = {}
        for registered in self._tools:
            for name in {registered.tool.name, to_camel(registered.tool.name)}:
                if name in self._by_name:
                    raise ValueError(f"two tools are called {name}")
                self._by_name[name] = registered
        if services.job_calls:
            job_calls = replace(services.job_calls, has_job_tool="job" in self._by_name)
            services = replace(services, job_calls=job_calls)
        self._services = services
        self.handle = build_handler(services)

    @property
    def tools(self) -> list[Tool[Any]]:
        """The enabled tools, in their order."""
        return [registered.tool for registered in self._tools]

    @property
    def names(self) -> list[str]:
        """The names of the enabled tools."""
        return [tool.name for tool in self.tools]

    @property
    def groups(self) -> Mapping[str, int]:
        """The number of enabled tools in each group."""
        return Counter(str(tool.group) for tool in self.tools)

    def definitions(self) -> list[dict[str, Any]]:
        """Return every tool as the protocol describes it."""
        return [registered.definition for registered in self._tools]

    def list_page(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of `tools/list`."""
        return build_page("tools", self.definitions(), cursor, self._page_size)

    def header_schema(self, name: str) -> dict[str, Any] | None:
        """Return the input schema of a tool if some arguments are repeated in HTTP headers."""
        registered = self._by_name.get(name)
        if registered and registered.has_header_arguments:
            schema: dict[str, Any] = registered.definition["inputSchema"]
            return schema
        return None

    def build_call(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallContext:
        """Return a client's call; the pipeline refuses it if the tool is unknown."""
        registered = self._by_name.get(params.name)
        if registered is None:
            return CallContext(context=context, params=params)
        tool = registered.tool
        return CallContext(context=context, params=params, tool=tool, tool_name=tool.name)

    def build_inner_call(self, outer: CallContext, params: CallToolRequestParams) -> CallContext:
        """Return a call that a model makes while it answers `outer`, in the same job."""
        call = self.build_call(outer.context, params)
        return replace(call, caller=outer.caller, job=outer.job)

    async def observe_external(
        self,
        outer: CallContext,
        params: CallToolRequestParams,
        handler: Callable[[CallContext], Awaitable[R]],
    ) -> R:
        """Run the call of another server's tool, audited and counted like our own."""
        call = replace(
            self.build_inner_call(outer, params), tool_name=params.name[:_MAX_NAME_CHARS]
        )
        return await observe_call(call, handler, self._services)


def _check_disabled(disabled: Iterable[str], tools: list[Tool[Any]]) -> Iterable[str]:
    names = [tool.name for tool in tools]
    for name in disabled:
        if name not in names and name not in list(Group):
            raise ConfigurationError(
                f"tools.disabled: there is no tool or group called {name}. "
                f"Groups: {', '.join(Group)}. Tools: {', '.join(names)}."
            )
        yield name
