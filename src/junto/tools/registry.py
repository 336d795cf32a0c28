"""The tools on offer: found by name, checked, run, and answered in the protocol's shape."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import x_mcp_header_map
from mcp_types import INVALID_PARAMS, CallToolResult, InputRequiredResult
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from junto.domain.errors import ConfigurationError, InvalidInputError
from junto.tools.guard import Guard, crashed
from junto.tools.long import LongCalls
from junto.tools.pages import page_of
from junto.tools.schemas import input_schema, output_schema, problems
from junto.tools.tool import Answer, Call, Group, Tool

_SHOWN = 100

T = TypeVar("T")
WireResult = dict[str, Any] | CallToolResult | InputRequiredResult


@dataclass(frozen=True)
class _Offer:
    """A tool; its schemas are compiled when somebody asks for them."""

    tool: Tool[Any]

    @cached_property
    def definition(self) -> dict[str, Any]:
        tool = self.tool
        definition = {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": input_schema(tool.arguments),
            "annotations": tool.hints.wire(),
        }
        if tool.result:
            definition["outputSchema"] = output_schema(tool.result)
        return definition

    @cached_property
    def in_headers(self) -> bool:
        return bool(x_mcp_header_map(self.definition["inputSchema"]))

    def checked(self, arguments: Mapping[str, Any]) -> Any:
        try:
            return self.tool.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(problems(error, self.tool.arguments)) from None


class Registry:
    """Every tool that is switched on, in a fixed order."""

    def __init__(
        self,
        tools: Iterable[Tool[Any]],
        *,
        guard: Guard,
        long: LongCalls | None = None,
        off: Iterable[str] = (),
        page: int = 50,
    ) -> None:
        """Compile `tools`, leaving out those whose name or group is in `off`.

        Raises:
            ConfigurationError: `off` names something that does not exist.
        """
        every = list(tools)
        hidden = frozenset(_known(off, every))
        offers = [
            _Offer(tool) for tool in every if tool.name not in hidden and tool.group not in hidden
        ]
        self._guard = guard
        self._long = long
        self._page = page
        self._listed = offers
        self._offers: dict[str, _Offer] = {}
        for offer in offers:
            for name in {offer.tool.name, to_camel(offer.tool.name)}:
                if name in self._offers:
                    raise ValueError(f"two tools answer to {name}")
                self._offers[name] = offer

    @property
    def names(self) -> list[str]:
        """Return the names of the tools on offer."""
        return [offer.tool.name for offer in self._listed]

    @property
    def groups(self) -> Mapping[str, int]:
        """Return how many tools of each group are on offer."""
        return Counter(str(offer.tool.group) for offer in self._listed)

    def definitions(self) -> list[dict[str, Any]]:
        """Return every tool as the protocol describes it."""
        return [offer.definition for offer in self._listed]

    def listed(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the list of tools."""
        return page_of("tools", self.definitions(), cursor, self._page)

    def header_schema(self, name: str) -> dict[str, Any] | None:
        """Return the schema of a tool's arguments, if headers must repeat some of them."""
        offer = self._offers.get(name)
        return offer.definition["inputSchema"] if offer and offer.in_headers else None

    async def call(self, call: Call) -> WireResult:
        """Run the tool that `call` names and return what the client gets.

        Raises:
            MCPError: there is no such tool, or it failed in a way that nobody foresaw.
        """
        return await self._guarded(call, self._run)

    async def use(self, call: Call) -> WireResult:
        """Run a tool for a model, within a call that is a job already.

        Raises:
            MCPError: there is no such tool, or it failed in a way that nobody foresaw.
        """
        try:
            return await self._guarded(call, _run_here)
        except MCPError:
            raise
        except Exception as error:
            raise crashed(error, "tool crashed", tool=call.params.name[:_SHOWN]) from error

    async def _guarded(
        self, call: Call, run: Callable[[Tool[Any], Any, Call], Awaitable[WireResult]]
    ) -> WireResult:
        offer = self._offers.get(call.params.name)

        async def answered() -> WireResult:
            if offer is None:
                name = call.params.name[:_SHOWN]
                raise MCPError(
                    INVALID_PARAMS, f"Unknown tool: {name}. tools/list shows what there is."
                )
            return await run(offer.tool, offer.checked(call.params.arguments or {}), call)

        # All that are unknown are counted as one, or a caller could make up names without end.
        return await self._guard.around(offer.tool.name if offer else "unknown", call, answered)

    async def _run(self, tool: Tool[Any], arguments: Any, call: Call) -> WireResult:
        if tool.long:
            return await self._as_job(tool, arguments, call)
        return await _run_here(tool, arguments, call)

    async def watched(self, call: Call, run: Callable[[], Awaitable[T]]) -> T:
        """Count and write down the use of another server's tool, which fails in its result."""
        result = await self._guard.around(call.params.name[:_SHOWN], call, run)
        if isinstance(result, dict):
            raise TypeError("a tool of another server keeps its failures in its result")
        return result

    async def _as_job(self, tool: Tool[Any], arguments: Any, call: Call) -> WireResult:
        if self._long is None:
            raise TypeError(f"{tool.name} may be long, and there is nobody to run it as a job")

        async def work(call: Call) -> WireResult:
            return await _run_here(tool, arguments, call)

        background = getattr(arguments, "background", False)
        # Under its own name, whichever of its names it was called by.
        named = replace(call, params=call.params.model_copy(update={"name": tool.name}))
        return await self._long.run(named, work, background=background, findable=self._finds_jobs)

    @property
    def _finds_jobs(self) -> bool:
        return "job" in self._offers


async def _run_here(tool: Tool[Any], arguments: Any, call: Call) -> WireResult:
    return _wire(await tool.run(arguments, call))


def _known(off: Iterable[str], tools: list[Tool[Any]]) -> Iterable[str]:
    names = [tool.name for tool in tools]
    for name in off:
        if name not in names and name not in list(Group):
            raise ConfigurationError(
                f"tools.disabled: there is no tool or group called {name}. "
                f"Groups: {', '.join(Group)}. Tools: {', '.join(names)}."
            )
        yield name


def _wire(answer: Answer) -> WireResult:
    if isinstance(answer, CallToolResult | InputRequiredResult):
        return answer
    return answer.wire()
