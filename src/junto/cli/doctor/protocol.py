"""The protocol itself: a whole round trip over each way in, with a Junto that is started for it."""

import asyncio
import http.client
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from junto import __version__
from junto.cli.doctor.children import Process, last_words, started, worded
from junto.cli.doctor.findings import Case, Finding, broken, ok, warning
from junto.domain.errors import ExecutionError, JuntoError

SECONDS = 45.0
_PATIENCE = 30.0
_MOST_PAGES = 1000
_TOOL = "current_time"
_HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "junto-doctor", "version": __version__},
}
_SERVES = re.compile(rb"serves MCP at (http://\S+)/mcp")

Ask = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


def stdio(case: Case) -> Iterator[Finding]:
    """Start `junto mcp` as a client would, greet it, list its tools, and call one."""
    yield _found(case, "stdio", "mcp", _over_stdio)


def over_http(case: Case) -> Iterator[Finding]:
    """Start `junto serve` on a free port, and do the same there."""
    yield _found(case, "HTTP", "serve", _over_http)


def _found(case: Case, check: str, word: str, work: Callable[[Case], Awaitable[str]]) -> Finding:
    if case.settings.database.url and _would_change(case):
        detail = "not tried: a start would change the tables of the database"
        return warning(check, detail, "See the database above; a start of Junto does it.")
    try:
        return ok(check, f"`junto {word}` {asyncio.run(_patiently(work(case)))}")
    except TimeoutError:  # it is an OSError, too
        said = f"it did not answer within {_PATIENCE:.0f} seconds"
    except (JuntoError, OSError, http.client.HTTPException) as error:
        said = error.message if isinstance(error, JuntoError) else str(error)
    except (ValueError, KeyError, TypeError):
        said = "it answered with something that is not the protocol"
    fix = f"Run `junto {word} --log-level debug`, and read what it says on standard error."
    return broken(check, f"`junto {word}` fails: {said}", fix)


def _would_change(case: Case) -> bool:
    """Tell whether a start would bring a server's database up to date; a file is not touched."""
    from junto.app.trying import database

    try:
        sight = asyncio.run(database(case.settings))
    except JuntoError:
        return False  # then a start cannot change it either
    return bool(sight and sight.pending)


async def _patiently(work: Awaitable[str]) -> str:
    async with asyncio.timeout(_PATIENCE):
        return await work


async def _visited(ask: Ask) -> str:
    """Do what every client does first, and say how it went."""
    greeting = await ask("initialize", _HANDSHAKE)
    tools: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        page = await ask("tools/list", cursor)
        tools += [tool["name"] for tool in page["tools"]]
        if not page.get("nextCursor"):
            break
        cursor = {"cursor": page["nextCursor"]}
    told = f"speaks {greeting['protocolVersion']} and lists {len(tools)} tools"
    if _TOOL not in tools:
        return told
    result = await ask("tools/call", {"name": _TOOL, "arguments": {}})
    if result.get("isError"):
        raise ExecutionError(f"its tool {_TOOL} fails.")
    return f"{told}; {_TOOL} works"


def _message(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(body).encode()


def _result(answer: Any) -> Any:
    if "error" in answer:
        raise ExecutionError(f"it says: {answer['error'].get('message')}")
    return answer["result"]


async def _over_stdio(case: Case) -> str:
    async with started(case, "mcp") as process:
        return await _visited(_Pipe(process).ask)


@dataclass(slots=True)
class _Pipe:
    """Requests as lines, one at a time."""

    process: Process
    _number: int = 0

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise ExecutionError("it has no pipes.")
        self._number += 1
        stdin.write(_message(self._number, method, params) + b"\n")
        while line := await stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number:
                return _result(answer)
        raise ExecutionError(await last_words(self.process) or "it ended without an answer.")


async def _over_http(case: Case) -> str:
    async with started(case, "serve", "--port", "0") as process:
        address = urlsplit(await _announced(process))
        connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=_PATIENCE
        )
        try:
            return await _visited(_Posts(connection).ask)
        finally:
            connection.close()


async def _announced(process: Process) -> str:
    """Return where a server says that it serves."""
    said = b""
    while process.stderr and (line := await process.stderr.readline()):
        if found := _SERVES.search(line):
            return found[1].decode()
        said = line.strip() or said
    raise ExecutionError(worded(said) or "it ended without a word.")


@dataclass(slots=True)
class _Posts:
    """Requests as posts, one after another over one connection."""

    connection: http.client.HTTPConnection
    _number: int = 0

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._number += 1
        return await asyncio.to_thread(self._posted, _message(self._number, method, params))

    def _posted(self, body: bytes) -> Any:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": str(_HANDSHAKE["protocolVersion"]),
        }
        self.connection.request("POST", "/mcp", body, headers)
        reply = self.connection.getresponse()
        said = reply.read()
        if reply.status != http.client.OK:
            raise ExecutionError(f"it answered {reply.status} {reply.reason}.")
        if "event-stream" in reply.headers.get("Content-Type", ""):
            data = [line[5:] for line in said.splitlines() if line.startswith(b"data:")]
            return _result(json.loads(data[-1]))
        return _result(json.loads(said))
