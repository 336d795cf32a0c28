"""Other MCP servers, whose tools models may use; one that is dead takes only its own with it."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult
from typing_extensions import override

from junto.conversation.tool_loop import Toolbox
from junto.domain.errors import ConfigurationError, JuntoError, NetworkError, TimeLimitError
from junto.domain.messages import Text, ToolCall, ToolResult
from junto.domain.questions import ToolSpec
from junto.settings.entries import ServerEntry
from junto.telemetry.logs import Log
from junto.tools.slices import plain
from junto.tools.toolbox import OwnTools, fenced, result_parts

_log = Log.of("tools")

# Names that every provider takes have no dot in them.
_JOINT = "__"
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_MOST_PAGES = 20
_MOST_SAID = 2000
_KEPT_SECONDS = 60.0
_FAREWELL = 15.0
_LEAVE_ALONE = 30.0


@dataclass(eq=False, slots=True)
class Server:
    """One of them: connected to when it is needed, and again after it was lost."""

    entry: ServerEntry
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _client: Any = field(default=None, init=False)
    _task: "asyncio.Task[None] | None" = field(default=None, init=False)
    _over: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _leaving: "set[asyncio.Task[None]]" = field(default_factory=set, init=False)
    _specs: tuple[ToolSpec, ...] = field(default=(), init=False)
    _names: dict[str, str] = field(default_factory=dict, init=False)
    _good_until: float = field(default=0.0, init=False)

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Return its tools under the names that models know; none while it cannot be reached."""
        now = asyncio.get_running_loop().time()
        if now < self._good_until:
            return self._specs
        try:
            self._listed(await self._within(self.entry.connect, _tools(await self._connected())))
            self._good_until = now + _KEPT_SECONDS
        except (JuntoError, MCPError) as error:
            _log.warning("server not reached", server=self.entry.name, reason=error.message)
            self._specs, self._good_until = (), now + _LEAVE_ALONE
        return self._specs

    def shown(self, name: str) -> str:
        """Return the name of one of its tools as people know it."""
        return f"{self.entry.name}.{self._names[name]}"

    def knows(self, name: str) -> bool:
        """Tell whether a tool that models know is one of its."""
        return name in self._names

    async def use(self, call: ToolCall) -> ToolResult:
        """Use one of its tools; a failure is a result too."""
        try:
            client = await self._connected()
            asked = client.call_tool(self._names[call.name], dict(call.arguments))
            result: CallToolResult = await self._within(self.entry.timeout, asked)
            given = plain(result)
            parts = result_parts(call.name, given)
        except JuntoError as error:
            return ToolResult(call.id, (Text(error.message),), is_error=True)
        except MCPError as error:  # it lives, and says no
            said = fenced(call.name, error.message[:_MOST_SAID])
            return ToolResult(call.id, (Text(said),), is_error=True)
        except (ValueError, KeyError):
            said = f"{call.name} gave something that cannot be read."
            return ToolResult(call.id, (Text(said),), is_error=True)
        return ToolResult(call.id, parts, bool(given.get("isError")))

    async def close(self) -> None:
        """Hang up, and wait until nothing is left of the connection."""
        self._leave()
        if self._leaving:
            await asyncio.wait(set(self._leaving), timeout=_FAREWELL)

    def _leave(self) -> None:
        """Hang up, also on one that has not even answered yet, and wait for nothing."""
        answered = self._client is not None
        self._over.set()
        task, self._client, self._task = self._task, None, None
        if task and not task.done():
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
            # Once only: the second time would interrupt the ending of its process.
            if not answered:
                task.cancel()

    def _listed(self, tools: Sequence[Any]) -> None:
        entry, specs = self.entry, []
        self._names = {}
        for tool in tools:
            if (entry.include and tool.name not in entry.include) or tool.name in entry.exclude:
                continue
            name = _ODD.sub("_", f"{entry.name}{_JOINT}{tool.name}")[:_LONGEST_NAME]
            if name not in self._names:
                self._names[name] = tool.name
                specs.append(ToolSpec(name, tool.description or "", tool.input_schema))
        self._specs = tuple(specs)

    async def _within(self, seconds: float, work: Any) -> Any:
        """Wait so long for what a server does; whatever goes wrong, the next use connects anew."""
        try:
            async with asyncio.timeout(seconds):
                return await work
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            self._leave()
            raise NetworkError(f"{self.entry.name} has hung up. It may work again.") from error
        except TimeoutError:
            raise TimeLimitError(f"{self.entry.name} did not answer in {seconds:g} s.") from None
        except Exception as error:
            self._leave()
            raise NetworkError(
                f"{self.entry.name} failed ({type(error).__name__}). It may work again later."
            ) from error

    async def _connected(self) -> Any:
        async with self._one_at_a_time:
            if self._client is None or (self._task and self._task.done()):
                self._leave()
                self._over = asyncio.Event()
                ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                # The connection must be closed by the task that opened it.
                self._task = asyncio.create_task(self._hold(ready, self._over))
                try:
                    self._client = await self._within(self.entry.connect, ready)
                except BaseException:
                    self._leave()
                    raise
            return self._client

    async def _hold(self, ready: "asyncio.Future[Any]", over: asyncio.Event) -> None:
        try:
            async with _client(self.entry) as client:
                if not ready.done():
                    ready.set_result(client)
                await over.wait()
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            if not ready.done():
                ready.set_exception(error)
            _log.debug("server left", server=self.entry.name, reason=type(error).__name__)


@dataclass(frozen=True, slots=True)
class ServerTools(Toolbox):
    """The tools of `own`, and those of servers that were reached."""

    own: OwnTools
    servers: tuple[Server, ...]
    found: tuple[ToolSpec, ...]

    @classmethod
    async def beside(cls, own: OwnTools, servers: Iterable[Server]) -> "ServerTools":
        """Return a toolbox with the tools of all that can be reached."""
        every = tuple(servers)
        found = await asyncio.gather(*(server.specs() for server in every))
        return cls(own, every, tuple(spec for specs in found for spec in specs))

    @override
    def specs(self) -> tuple[ToolSpec, ...]:
        return (*self.own.specs(), *self.found)

    @override
    async def use(self, call: ToolCall) -> ToolResult:
        if server := self._owner(call.name):
            return await self.own.watched(call, server.use, server.shown(call.name))
        return await self.own.use(call)

    @override
    def shown(self, name: str) -> str:
        server = self._owner(name)
        return server.shown(name) if server else name

    def _owner(self, name: str) -> Server | None:
        return next((server for server in self.servers if server.knows(name)), None)


def servers_of(entries: Sequence[ServerEntry]) -> tuple[Server, ...]:
    """Return the servers of the configuration.

    Raises:
        ConfigurationError: two of them go by one name.
    """
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ConfigurationError("servers: each has a name of its own.")
    return tuple(Server(entry) for entry in entries)


async def _tools(client: Any) -> list[Any]:
    tools: list[Any] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


@contextlib.asynccontextmanager
async def _client(entry: ServerEntry) -> AsyncIterator[Any]:
    from mcp.client.client import Client  # for those who have other servers
    from mcp.client.stdio import StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    if entry.command:
        environment = {name: value.get_secret_value() for name, value in entry.environment.items()}
        target: Any = StdioServerParameters(
            command=entry.command, args=list(entry.args), env=environment
        )
        async with Client(target) as client:
            yield client
        return
    headers = {name: value.get_secret_value() for name, value in entry.headers.items()}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(entry.url or "", http_client=http)) as client,
    ):
        yield client
