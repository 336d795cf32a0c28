"""Checks of the MCP protocol: a full exchange over each transport with a temporary server."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from junto.cli.doctor.checks import CheckContext, Finding, fail, ok, warn
from junto.domain.errors import ExecutionError, JuntoError
from junto.version import __version__

CHECK_TIMEOUT_SECONDS = 45.0
_REPLY_TIMEOUT_SECONDS = 30.0
_EXIT_GRACE_SECONDS = 4.0
_MAX_PAGES = 1000
_MAX_LINE_BYTES = 64 * 1024 * 1024
_MAX_STDERR_CHARS = 300
_PROBE_TOOL = "current_time"
_INITIALIZE_PARAMS = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "junto-doctor", "version": __version__},
}
_SERVER_URL = re.compile(rb"serves MCP at (http://\S+)/mcp")

SendRequest = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
Process = asyncio.subprocess.Process


def check_stdio(context: CheckContext) -> Iterator[Finding]:
    """Start `junto mcp` as a client would, initialize it, list its tools, and call one."""
    yield _check_transport(context, "stdio", "mcp", _probe_stdio)


def check_http(context: CheckContext) -> Iterator[Finding]:
    """Start `junto serve` on a free port, and run the same exchange over HTTP."""
    yield _check_transport(context, "HTTP", "serve", _probe_http)


def _check_transport(
    context: CheckContext, check: str, command: str, probe: Callable[[CheckContext], Awaitable[str]]
) -> Finding:
    if context.settings.database.url and _has_pending_migrations(context):
        detail = "not tried: a start would change the tables of the database"
        return warn(check, detail, "See the database above; a start of Junto does it.")
    try:
        return ok(check, f"`junto {command}` {asyncio.run(_run_with_timeout(probe(context)))}")
    except TimeoutError:  # first, because it is a subclass of OSError
        problem = f"it did not answer within {_REPLY_TIMEOUT_SECONDS:.0f} seconds"
    except (JuntoError, OSError, http.client.HTTPException) as error:
        problem = error.message if isinstance(error, JuntoError) else str(error)
    except (ValueError, KeyError, TypeError):
        problem = "it answered with something that is not the protocol"
    fix = f"Run `junto {command} --log-level debug`, and read what it says on standard error."
    return fail(check, f"`junto {command}` fails: {problem}", fix)


def _has_pending_migrations(context: CheckContext) -> bool:
    """Return whether a start would migrate the database, which a check must not do."""
    from junto.cli.doctor.probes import inspect_database

    try:
        info = asyncio.run(inspect_database(context.settings))
    except JuntoError:
        return False  # a start cannot migrate it either
    return bool(info and info.pending_migrations)


async def _run_with_timeout(probe: Awaitable[str]) -> str:
    async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
        return await probe


async def _exercise_server(send: SendRequest) -> str:
    """Initialize a session, list the tools, call one, and return a summary."""
    initialized = await send("initialize", _INITIALIZE_PARAMS)
    tools: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(_MAX_PAGES):
        page = await send("tools/list", cursor)
        tools += [tool["name"] for tool in page["tools"]]
        if not page.get("nextCursor"):
            break
        cursor = {"cursor": page["nextCursor"]}
    summary = f"speaks {initialized['protocolVersion']} and lists {len(tools)} tools"
    if _PROBE_TOOL not in tools:
        return summary
    result = await send("tools/call", {"name": _PROBE_TOOL, "arguments": {}})
    if result.get("isError"):
        raise ExecutionError(f"its tool {_PROBE_TOOL} fails.")
    return f"{summary}; {_PROBE_TOOL} works"


def _encode_request(request_id: int, method: str, params: Mapping[str, Any]) -> bytes:
    body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return json.dumps(body).encode()


def _parse_result(response: Any) -> Any:
    if "error" in response:
        raise ExecutionError(f"it says: {response['error'].get('message')}")
    return response["result"]


async def _probe_stdio(context: CheckContext) -> str:
    async with _start_junto(context, "mcp") as process:
        return await _exercise_server(_StdioSession(process).send)


@dataclass(slots=True)
class _StdioSession:
    """A client session over stdio, with one request at a time."""

    process: Process
    _request_id: int = 0

    async def send(self, method: str, params: Mapping[str, Any]) -> Any:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise ExecutionError("it has no pipes.")
        self._request_id += 1
        stdin.write(_encode_request(self._request_id, method, params) + b"\n")
        while line := await stdout.readline():
            response = json.loads(line)
            if response.get("id") == self._request_id:
                return _parse_result(response)
        raise ExecutionError(await _read_stderr_tail(self.process) or "it ended without an answer.")


async def _probe_http(context: CheckContext) -> str:
    async with _start_junto(context, "serve", "--port", "0") as process:
        address = urlsplit(await _wait_for_url(process))
        connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=_REPLY_TIMEOUT_SECONDS
        )
        try:
            return await _exercise_server(_HttpSession(connection).send)
        finally:
            connection.close()


async def _wait_for_url(process: Process) -> str:
    """Return the URL that a server prints on stderr once it listens."""
    last_line = b""
    while process.stderr and (line := await process.stderr.readline()):
        if match := _SERVER_URL.search(line):
            return match[1].decode()
        last_line = line.strip() or last_line
    raise ExecutionError(_format_last_line(last_line) or "it ended without a word.")


@dataclass(slots=True)
class _HttpSession:
    """A client session over one HTTP connection, with one request at a time."""

    connection: http.client.HTTPConnection
    _request_id: int = 0

    async def send(self, method: str, params: Mapping[str, Any]) -> Any:
        self._request_id += 1
        return await asyncio.to_thread(
            self._post, _encode_request(self._request_id, method, params)
        )

    def _post(self, body: bytes) -> Any:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": str(_INITIALIZE_PARAMS["protocolVersion"]),
        }
        self.connection.request("POST", "/mcp", body, headers)
        response = self.connection.getresponse()
        content = response.read()
        if response.status != http.client.OK:
            raise ExecutionError(f"it answered {response.status} {response.reason}.")
        if "event-stream" in response.headers.get("Content-Type", ""):
            data = [line[5:] for line in content.splitlines() if line.startswith(b"data:")]
            return _parse_result(json.loads(data[-1]))
        return _parse_result(json.loads(content))


@contextlib.asynccontextmanager
async def _start_junto(context: CheckContext, *arguments: str) -> AsyncIterator[Process]:
    """Run `junto` with these arguments until the block ends, then remove all its files.

    It uses the settings of `context`, but stores its files in a temporary directory, sends no
    requests to providers on its own, and logs to stderr.
    """
    config_option = ("--config", str(context.config_path.absolute())) if context.config_path else ()
    command = [sys.executable, "-P", "-m", "junto", *arguments, *config_option]
    with tempfile.TemporaryDirectory(prefix="junto-", ignore_cleanup_errors=True) as scratch:
        environment = {
            **os.environ,
            "JUNTO_STATE_DIRECTORY": scratch,
            "JUNTO_PROVIDERS_REFRESH": "0",
            "JUNTO_LOGGING_OUTPUT": "stderr",
        }
        if context.settings.database.url:  # it is outside `scratch`: write nothing to it
            environment["JUNTO_USAGE_ENABLED"] = "false"
        async with _supervise(command, environment, scratch) as process:
            yield process


@contextlib.asynccontextmanager
async def _supervise(
    command: list[str], environment: dict[str, str], scratch_dir: str
) -> AsyncIterator[Process]:
    from junto.runtime.processes import ProcessSpec, run_supervised

    directory_fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    spec = ProcessSpec(
        command=command,
        directory=directory_fd,
        environment=environment,
        grace=_EXIT_GRACE_SECONDS,
        scratch=scratch_dir,
    )
    try:
        async with run_supervised(spec, pipe_stdin=True, max_line_bytes=_MAX_LINE_BYTES) as process:
            yield process
    finally:
        os.close(directory_fd)


async def _read_stderr_tail(process: Process) -> str:
    """Return the last line that a process wrote to stderr."""
    if process.stderr is None:
        return ""
    output = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1):
            while chunk := await process.stderr.read(1 << 16):
                output = (output + chunk)[-(1 << 16) :]
    return _format_last_line(output)


def _format_last_line(output: bytes) -> str:
    """Return the last line of an output, truncated to fit into a message."""
    lines = output.decode(errors="replace").strip().splitlines() or [""]
    line = lines[-1].removeprefix("junto: ")
    return line if len(line) <= _MAX_STDERR_CHARS else f"{line[:_MAX_STDERR_CHARS]}…"
