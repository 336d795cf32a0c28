"""Upstream MCP servers, over stdio and HTTP: working, slow and dead."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import (
    Json,
    StdioClient,
    clean_environment,
    environment_with_roots,
    http_server,
    junto_command,
    stdio_server,
)
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.processes import command_lines

OTHER_SERVER = """
import asyncio, os, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("other")
@server.tool()
def add(a: int, b: int) -> str:
    "Add two numbers."
    return f"the sum is {a + b}"
@server.tool()
def variable(name: str) -> str:
    "Tell a variable."
    return os.environ.get(name, "nothing")
@server.tool()
async def sleep() -> str:
    "Take long."
    await asyncio.Event().wait()
    return "slept"
@server.tool()
def die() -> str:
    "End at once."
    os._exit(1)
server.run()
"""


@pytest.fixture
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


@contextlib.contextmanager
def junto_server(
    home: Path, upstream: FakeModelServer, *servers: Json, **more: str
) -> Iterator[StdioClient]:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    environment = environment_with_roots(
        home, JUNTO_MODELS=json.dumps([model]), JUNTO_SERVERS=json.dumps(servers), **more
    )
    with stdio_server(junto_command("mcp"), environment, home, with_coverage=True) as client:
        yield client


def other_server(home: Path, **more: Any) -> Json:
    script = home / "other.py"
    script.write_text(OTHER_SERVER)
    return {"name": "other", "command": sys.executable, "args": [str(script)], **more}


def call_through_model(client: StdioClient, name: str, /, **arguments: Any) -> Json:
    prompt = "use " + json.dumps([{"name": name, "arguments": arguments}])
    params = {"name": "query", "arguments": {"prompt": prompt}}
    facts: Json = client.ask(1, "tools/call", **params)["result"]["structuredContent"]
    return facts


def offered_tools(upstream: FakeModelServer) -> set[str]:
    return {tool["name"] for tool in upstream.bodies[-1]["tools"]}


def test_a_model_uses_the_tools_of_an_upstream_server(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    entry = other_server(tmp_path, environment={"PLANTED": "for it"}, exclude=["die"])
    with junto_server(tmp_path, upstream, entry) as client:
        facts = call_through_model(client, "other__add", a=2, b=3)
        given = call_through_model(client, "other__variable", name="PLANTED")
        hidden = call_through_model(client, "other__variable", name="JUNTO_MODELS")
        names = offered_tools(upstream)
        refused = call_through_model(client, "other__die")

    assert "the sum is 5" in facts["response"]
    assert facts["toolCalls"][0]["name"] == "other.add"
    assert "<data-" in facts["response"]
    assert "for it" in given["response"]
    assert "nothing" in hidden["response"]
    assert {"other__add", "read_file"} <= names
    assert "other__die" not in names
    assert not refused["toolCalls"][0]["ok"]


def test_calls_of_upstream_tools_are_audited(tmp_path: Path, upstream: FakeModelServer) -> None:
    logs = {"JUNTO_LOGGING_OUTPUT": "files", "JUNTO_LOGGING_LEVEL": "info"}
    with junto_server(tmp_path, upstream, other_server(tmp_path), **logs) as client:
        call_through_model(client, "other__add", a=2, b=3)
        call_through_model(client, "read_file", path="missing")
        client.finish()

    lines = (tmp_path / "data/junto/logs/audit.log").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert [(entry["tool"], entry["outcome"]) for entry in entries] == [
        ("other.add", "ok"), ("query", "ok"), ("read_file", "NotFound"), ("query", "ok"),
    ]  # fmt: skip


def test_another_junto_over_http_can_be_an_upstream_server(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    home = tmp_path / "there"
    home.mkdir()
    with http_server(junto_command("serve", "--port", "0"), clean_environment(home), home) as (
        server,
        _,
    ):
        entry = {
            "name": "there",
            "url": f"http://127.0.0.1:{server.port}/mcp",
            "include": ["current_time"],
        }
        with junto_server(tmp_path, upstream, entry) as client:
            facts = call_through_model(client, "there__current_time", timezone="Asia/Taipei")

    assert "+08:00" in facts["response"]
    assert {name for name in offered_tools(upstream) if name.startswith("there")} == {
        "there__current_time"
    }


def test_a_dead_server_removes_only_its_own_tools(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    dead = {"name": "dead", "url": "http://127.0.0.1:9/mcp", "connect": 2}
    missing = {"name": "missing", "command": "/no/such/program"}
    with junto_server(tmp_path, upstream, dead, missing, other_server(tmp_path)) as client:
        facts = call_through_model(client, "other__add", a=1, b=1)

    assert "the sum is 2" in facts["response"]
    assert not any(name.startswith(("dead", "missing")) for name in offered_tools(upstream))


def test_a_server_that_exits_or_times_out_is_reconnected(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with junto_server(tmp_path, upstream, other_server(tmp_path, timeout=1)) as client:
        late = call_through_model(client, "other__sleep")
        died = call_through_model(client, "other__die")
        again = call_through_model(client, "other__add", a=2, b=2)
        assert client.finish()[0] == 0

    assert "did not answer in 1 s" in late["response"]
    assert not died["toolCalls"][0]["ok"]
    assert "the sum is 4" in again["response"]
    assert not _find_pids(str(tmp_path / "other.py"))


def _find_pids(mark: str) -> list[int]:
    return [pid for pid, words in command_lines().items() if mark in words]


HANG_PROGRAM = "import signal; signal.pause()"


def test_a_server_that_never_answers_blocks_neither_queries_nor_shutdown(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    silent = {
        "name": "silent",
        "command": sys.executable,
        "args": ["-c", HANG_PROGRAM],
        "connect": 1,
    }
    with junto_server(tmp_path, upstream, silent, other_server(tmp_path)) as client:
        first = call_through_model(client, "other__add", a=1, b=1)
        second = call_through_model(client, "other__add", a=1, b=2)
        assert client.finish()[0] == 0

    assert "the sum is 2" in first["response"]
    assert "the sum is 3" in second["response"]
    assert not _find_pids(HANG_PROGRAM)


def test_two_servers_cannot_share_a_name(tmp_path: Path, upstream: FakeModelServer) -> None:
    with junto_server(tmp_path, upstream, other_server(tmp_path), other_server(tmp_path)) as client:
        assert client.process.wait(30) == 2


@pytest.mark.parametrize("entry", [{"name": "x"}, {"name": "a b", "url": "http://x"}])
def test_a_server_needs_a_valid_name_and_a_transport(
    tmp_path: Path, upstream: FakeModelServer, entry: Json
) -> None:
    with junto_server(tmp_path, upstream, entry) as client:
        assert client.process.wait(30) == 2


GREEDY_SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("greedy")
for number in range(500):
    server.add_tool(lambda: "x", name=f"tool{number}", description="word " * 10_000)
for number in range(100_000):
    print("noise", number, "sk-ant-0123456789abcdefghij", file=sys.stderr)
server.run()
"""


def test_a_server_cannot_fill_the_context_or_the_log(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    script = tmp_path / "greedy.py"
    script.write_text(GREEDY_SERVER)
    entry = {"name": "greedy", "command": sys.executable, "args": [str(script)], "connect": 60}
    logs = {"JUNTO_LOGGING_OUTPUT": "files", "JUNTO_LOGGING_LEVEL": "info"}
    with junto_server(tmp_path, upstream, entry, **logs) as client:
        call_through_model(client, "greedy__tool1")
        tools = [each for each in upstream.bodies[-1]["tools"] if "greedy__" in each["name"]]
        client.finish()

    assert 40 < len(tools) < 60
    assert sum(len(json.dumps(tool)) for tool in tools) < 70_000
    log = (tmp_path / "data" / "junto" / "logs" / "general.log").read_text()
    assert log.count("noise") == 199
    assert log.count("the rest is dropped") == 1
    assert "sk-ant-" not in log
