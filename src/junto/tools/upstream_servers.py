"""Connections to other MCP servers, whose tools models may use.

A server that fails only affects its own tools.
"""

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult
from typing_extensions import override

from junto.conversation.tool_loop import Toolbox
from junto.domain.completions import ToolSpec
from junto.domain.errors import ConfigurationError, JuntoError, NetworkError, TimeLimitError
from junto.domain.messages import TextPart, ToolCall, ToolResult
from junto.settings.list_entries import ServerEntry
from junto.telemetry.logs import Log
from junto.tools.result_paging import to_json
from junto.tools.toolbox import OwnTools, build_result_parts, fence_data

_log = Log.get("tools")

# Not a dot, because some providers do not allow dots in tool names.
_NAME_SEPARATOR = "__"
_INVALID_NAME_CHARS = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME_CHARS = 64
_MAX_PAGES = 20
# A server must not fill a model's context with its tools, nor our log with its messages.
_MAX_TOOLS = 200
_MAX_DESCRIPTION_CHARS = 1000
_MAX_SPEC_CHARS = 60_000  # of all tools of a server together
_MAX_STDERR_LINES = 200
_MAX_STDERR_LINE_BYTES = 2000
_MAX_ERROR_CHARS = 2000
_CACHE_SECONDS = 60.0
_CLOSE_TIMEOUT_SECONDS = 15.0
_RETRY_DELAY_SECONDS = 30.0


@dataclass(eq=False, slots=True)
class UpstreamServer:
    """An MCP server that is connected to on first use, and again after the connection is lost."""

    entry: ServerEntry
    _connect_lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _client: Any = field(default=None, init=False)
    _connection_task: "asyncio.Task[None] | None" = field(default=None, init=False)
    _close_requested: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _closing_tasks: "set[asyncio.Task[None]]" = field(default_factory=set, init=False)
    _specs: tuple[ToolSpec, ...] = field(default=(), init=False)
    _original_names: dict[str, str] = field(default_factory=dict, init=False)
    _cache_expires_at: float = field(default=0.0, init=False)

    async def load_specs(self) -> tuple[ToolSpec, ...]:
        """Return its tools with their prefixed names, or none if it cannot be reached."""
        now = asyncio.get_running_loop().time()
        if now < self._cache_expires_at:
            return self._specs
        try:
            self._store_specs(
                await self._run_with_timeout(self.entry.connect, _list_tools(await self._connect()))
            )
            self._cache_expires_at = now + _CACHE_SECONDS
        except (JuntoError, MCPError) as error:
            _log.warning("server not reached", server=self.entry.name, reason=error.message)
            self._specs, self._cache_expires_at = (), now + _RETRY_DELAY_SECONDS
        return self._specs

    def display_name(self, name: str) -> str:
        """Return a prefixed tool name as `server.tool`, for display."""
        return f"{self.entry.name}.{self._original_names[name]}"

    def has_tool(self, name: str) -> bool:
        """Return whether a prefixed tool name belongs to this server."""
        return name in self._original_names

    async def use(self, call: ToolCall) -> ToolResult:
        """Call one of its tools; failures are returned as error results."""
        try:
            client = await self._connect()
            request = client.call_tool(self._original_names[call.name], dict(call.arguments))
            result: CallToolResult = await self._run_with_timeout(self.entry.timeout, request)
            data = to_json(result)
            parts = build_result_parts(call.name, data)
        except JuntoError as error:
            return ToolResult(call.id, (TextPart(error.message),), is_error=True)
        except MCPError as error:  # the connection works, but the server rejected the call
            text = fence_data(call.name, error.message[:_MAX_ERROR_CHARS])
            return ToolResult(call.id, (TextPart(text),), is_error=True)
        except (ValueError, KeyError):
            text = f"{call.name} gave something that cannot be read."
            return ToolResult(call.id, (TextPart(text),), is_error=True)
        return ToolResult(call.id, parts, bool(data.get("isError")))

    async def close(self) -> None:
        """Disconnect, and wait until all connections are closed."""
        self._disconnect()
        if self._closing_tasks:
            await asyncio.wait(set(self._closing_tasks), timeout=_CLOSE_TIMEOUT_SECONDS)

    def _disconnect(self) -> None:
        """Start closing the connection, also if it is not established yet, without waiting."""
        connected = self._client is not None
        self._close_requested.set()
        task, self._client, self._connection_task = self._connection_task, None, None
        if task and not task.done():
            self._closing_tasks.add(task)
            task.add_done_callback(self._closing_tasks.discard)
            # A connected task ends by itself; cancelling it would interrupt the process cleanup.
            if not connected:
                task.cancel()

    def _store_specs(self, tools: Sequence[Any]) -> None:
        entry = self.entry
        specs: list[ToolSpec] = []
        self._original_names = {}
        for tool in tools:
            if (entry.include and tool.name not in entry.include) or tool.name in entry.exclude:
                continue
            name = _INVALID_NAME_CHARS.sub("_", f"{entry.name}{_NAME_SEPARATOR}{tool.name}")[
                :_MAX_NAME_CHARS
            ]
            if name not in self._original_names:
                self._original_names[name] = tool.name
                description = (tool.description or "")[:_MAX_DESCRIPTION_CHARS]
                specs.append(ToolSpec(name, description, tool.input_schema))
        self._specs = tuple(_take_fitting(specs))
        if omitted := {spec.name for spec in specs} - {spec.name for spec in self._specs}:
            _log.warning("tools left out", server=entry.name, count=len(omitted))

    async def _run_with_timeout(self, timeout_seconds: float, awaitable: Any) -> Any:
        """Await a request with a timeout, and disconnect if the connection failed.

        Raises:
            MCPError: the server rejected the request.
            NetworkError: the connection was closed, or failed.
            TimeLimitError: the server did not answer in time.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                return await awaitable
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            self._disconnect()
            raise NetworkError(f"{self.entry.name} has hung up. It may work again.") from error
        except TimeoutError:
            raise TimeLimitError(
                f"{self.entry.name} did not answer in {timeout_seconds:g} s."
            ) from None
        except Exception as error:
            self._disconnect()
            raise NetworkError(
                f"{self.entry.name} failed ({type(error).__name__}). It may work again later."
            ) from error

    async def _connect(self) -> Any:
        async with self._connect_lock:
            if self._client is None or (self._connection_task and self._connection_task.done()):
                self._disconnect()
                self._close_requested = asyncio.Event()
                ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                # One task per connection: anyio requires the task that opened it to close it.
                self._connection_task = asyncio.create_task(
                    self._hold_connection(ready, self._close_requested)
                )
                try:
                    self._client = await self._run_with_timeout(self.entry.connect, ready)
                except BaseException:
                    self._disconnect()
                    raise
            return self._client

    async def _hold_connection(
        self, ready: "asyncio.Future[Any]", close_requested: asyncio.Event
    ) -> None:
        try:
            async with _open_client(self.entry) as client:
                if not ready.done():
                    ready.set_result(client)
                await close_requested.wait()
        except Exception as error:  # noqa: BLE001 - passed on to the waiting `_connect`
            if not ready.done():
                ready.set_exception(error)
            _log.debug("server left", server=self.entry.name, reason=type(error).__name__)


@dataclass(frozen=True, slots=True)
class CombinedToolbox(Toolbox):
    """A toolbox with Junto's own tools and those of the upstream servers."""

    own: OwnTools
    servers: tuple[UpstreamServer, ...]
    upstream_specs: tuple[ToolSpec, ...]

    @classmethod
    async def create(cls, own: OwnTools, servers: Iterable[UpstreamServer]) -> "CombinedToolbox":
        """Return a toolbox with the tools of all servers that can be reached."""
        all_servers = tuple(servers)
        loaded = await asyncio.gather(*(server.load_specs() for server in all_servers))
        return cls(own, all_servers, tuple(spec for specs in loaded for spec in specs))

    @override
    def specs(self) -> tuple[ToolSpec, ...]:
        return (*self.own.specs(), *self.upstream_specs)

    @override
    async def use(self, call: ToolCall) -> ToolResult:
        if server := self._find_server(call.name):
            return await self.own.use_external(call, server.use, server.display_name(call.name))
        return await self.own.use(call)

    @override
    def display_name(self, name: str) -> str:
        server = self._find_server(name)
        return server.display_name(name) if server else name

    def _find_server(self, name: str) -> UpstreamServer | None:
        return next((server for server in self.servers if server.has_tool(name)), None)


def build_upstream_servers(entries: Sequence[ServerEntry]) -> tuple[UpstreamServer, ...]:
    """Return the configured upstream servers.

    Raises:
        ConfigurationError: two servers have the same name.
    """
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ConfigurationError("servers: each has a name of its own.")
    return tuple(UpstreamServer(entry) for entry in entries)


async def _list_tools(client: Any) -> list[Any]:
    tools: list[Any] = []
    cursor = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or len(tools) > _MAX_TOOLS:
            break
    return tools[: _MAX_TOOLS + 1]


def _take_fitting(specs: Sequence[ToolSpec]) -> Iterator[ToolSpec]:
    """Yield the tools that fit into the limits of a server."""
    remaining = _MAX_SPEC_CHARS
    for spec in specs[:_MAX_TOOLS]:
        size = len(spec.description) + len(json.dumps(spec.input_schema, default=str))
        if size <= remaining:
            remaining -= size
            yield spec


@contextlib.asynccontextmanager
async def _log_stderr(server: str) -> AsyncIterator[TextIO]:
    """Yield a file for the error output of a server, of which the first lines are logged."""
    read_fd, write_fd = os.pipe()
    reader = asyncio.StreamReader(limit=_MAX_STDERR_LINE_BYTES)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
    )

    async def log_lines() -> None:
        logged, rest = 0, b""
        while chunk := await reader.read(_MAX_STDERR_LINE_BYTES):
            # Whole lines only: a secret that is cut in two would not be recognised.
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _MAX_STDERR_LINE_BYTES:
                rest = b"[a long line]"
            for line in lines:
                logged += 1
                if logged < _MAX_STDERR_LINES:
                    _log.info("server says", server=server, line=line.decode("utf-8", "replace"))
                elif logged == _MAX_STDERR_LINES:
                    _log.info("server says too much; the rest is dropped", server=server)

    task = asyncio.create_task(log_lines())
    try:
        with os.fdopen(write_fd, "w") as file:
            yield file
    finally:
        transport.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def _open_client(entry: ServerEntry) -> AsyncIterator[Any]:
    from mcp.client.client import Client  # slow import, only needed with upstream servers
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    if entry.command:
        environment = {name: value.get_secret_value() for name, value in entry.environment.items()}
        parameters = StdioServerParameters(
            command=entry.command, args=list(entry.args), env=environment
        )
        async with (
            _log_stderr(entry.name) as stderr,
            Client(stdio_client(parameters, errlog=stderr)) as client,
        ):
            yield client
        return
    headers = {name: value.get_secret_value() for name, value in entry.headers.items()}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(entry.url or "", http_client=http)) as client,
    ):
        yield client
