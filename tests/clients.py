"""Clients for the tests: a child process on pipes, and plain HTTP on loopback."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scripts.docs.tools_page import tools

from junto.settings.enums import ToolAccess
from junto.settings.workspace_trust import TrustStore

HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TIMEOUT_SECONDS = 60

Json = dict[str, Any]
Remark = Callable[[str], None]


@cache
def tool_names(*, over_http: bool = False) -> list[str]:
    """Return every tool that is offered when nothing is configured, in its order."""
    access = ToolAccess.NONE if over_http else ToolAccess.ALL
    return [tool.name for tool in tools(access)]


def request(number: int | str, method: str, **params: Any) -> bytes:
    return encode_line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notification(method: str, **params: Any) -> bytes:
    return encode_line({"jsonrpc": "2.0", "method": method, "params": params})


def encode_line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def clean_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return an environment in which no setting of this machine is left."""
    kept = ("PATH", "PYTHONPATH", "LANG", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
    base = {name: os.environ[name] for name in kept if name in os.environ}
    return {**base, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), **variables}


def write_trusted_config(home: Path, text: str) -> Path:
    """Write a `junto.yaml` to `home`, which is the working directory too, and trust it."""
    path = home / "junto.yaml"
    path.write_text(text)
    TrustStore(home / ".config" / "junto" / "trusted.json").add(path, text.encode())
    return path


def environment_with_roots(home: Path, **variables: str) -> dict[str, str]:
    """Return the same with `home` as an allowed folder, which it is not by itself."""
    return clean_environment(home, JUNTO_TOOLS_ROOTS=str(home), **variables)


def junto_command(*words: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "junto", *words]


@dataclass
class StdioClient:
    """A server in a child process, spoken to one line at a time."""

    process: "subprocess.Popen[bytes]"

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> Json:
        assert self.process.stdout
        answer = self.process.stdout.readline()
        assert answer, "the server has closed its output"
        message: Json = json.loads(answer)
        return message

    def ask(self, number: int | str, method: str, **params: Any) -> Json:
        self.send(request(number, method, **params))
        return self.receive()

    def finish(self) -> tuple[int, bytes]:
        """Close the server's input and return its exit code and what else it wrote."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        rest = self.process.stdout.read()
        return self.process.wait(TIMEOUT_SECONDS), rest


def without_coverage(environment: dict[str, str]) -> dict[str, str]:
    """Return `environment` for a process that will be killed, and leaves no measurements anyway."""
    return {name: value for name, value in environment.items() if "COVERAGE" not in name}


@contextlib.contextmanager
def stdio_server(
    command: list[str], environment: dict[str, str], cwd: Path, *, with_coverage: bool = False
) -> Iterator[StdioClient]:
    """Start a server and kill it in the end; `measured` is for who lets it end by itself."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment if with_coverage else without_coverage(environment),
        cwd=cwd,
    ) as process:
        try:
            yield StdioClient(process)
        finally:
            process.kill()


@dataclass(frozen=True)
class HttpReply:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        message: Json = json.loads(self.body)
        return message

    def events(self) -> list[Json]:
        """Return the messages of an event stream."""
        lines = self.body.decode().splitlines()
        return [json.loads(text[5:]) for text in lines if text.startswith("data:")]


@dataclass(frozen=True)
class HttpClient:
    """A server on loopback."""

    port: int

    def get(self, path: str, **headers: str) -> HttpReply:
        return self.send("GET", path, None, headers)

    def post(self, message: Any, **headers: str) -> HttpReply:
        defaults = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.send("POST", "/mcp", body, defaults | headers)

    def modern(self, method: str, **params: Any) -> HttpReply:
        body = {"jsonrpc": "2.0", "id": 1, "method": method}
        meta = ENVELOPE | params.pop("_meta", {})
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        return self.post(
            body | {"params": {**params, "_meta": meta}},
            **headers,
            **({"Mcp-Name": params["name"]} if "name" in params else {}),
        )

    def legacy(self, method: str, **params: Any) -> HttpReply:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.post(body, **{"MCP-Protocol-Version": "2025-06-18"})

    def send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> HttpReply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                if value:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body or b"")))
            connection.endheaders(body)
            response = connection.getresponse()
            return HttpReply(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()


@contextlib.contextmanager
def http_server(
    command: list[str], environment: dict[str, str], cwd: Path
) -> Iterator[tuple[HttpClient, "subprocess.Popen[bytes]"]]:
    """Start a server that says on stderr where it listens, and end it as an operator would."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, cwd=cwd
    ) as process:
        assert process.stderr
        try:
            first = process.stderr.readline().decode()
            assert "serves MCP at" in first, first
            process.stderr.readline()
            yield HttpClient(int(first.rstrip().removesuffix("/mcp").rpartition(":")[2])), process
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=TIMEOUT_SECONDS)
