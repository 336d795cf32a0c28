"""Other MCP servers: real ones, over stdio and HTTP, alive, slow and dead."""

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
    child,
    clean_environment,
    http_server,
    junto,
    with_files,
)
from tests.processes import command_lines
from tests.server_upstream import ServedUpstream, served_upstream

OTHER = """
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
    await asyncio.sleep(60)
    return "slept"
@server.tool()
def die() -> str:
    "End at once."
    os._exit(1)
server.run()
"""


@pytest.fixture
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


@contextlib.contextmanager
def served(
    home: Path, upstream: ServedUpstream, *servers: Json, **more: str
) -> Iterator[StdioClient]:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    environment = with_files(
        home, JUNTO_MODELS=json.dumps([model]), JUNTO_SERVERS=json.dumps(servers), **more
    )
    with child(junto("mcp"), environment, home, measured=True) as client:
        yield client


def other(home: Path, **more: Any) -> Json:
    script = home / "other.py"
    script.write_text(OTHER)
    return {"name": "other", "command": sys.executable, "args": [str(script)], **more}


def asked(client: StdioClient, name: str, /, **arguments: Any) -> Json:
    prompt = "use " + json.dumps([{"name": name, "arguments": arguments}])
    params = {"name": "query", "arguments": {"prompt": prompt}}
    facts: Json = client.ask(1, "tools/call", **params)["result"]["structuredContent"]
    return facts


def told(upstream: ServedUpstream) -> set[str]:
    return {tool["name"] for tool in upstream.bodies[-1]["tools"]}


def test_a_model_uses_the_tools_of_another_server(tmp_path: Path, upstream: ServedUpstream) -> None:
    entry = other(tmp_path, environment={"PLANTED": "for it"}, exclude=["die"])
    with served(tmp_path, upstream, entry) as client:
        facts = asked(client, "other__add", a=2, b=3)
        seen = asked(client, "other__variable", name="PLANTED")
        hidden = asked(client, "other__variable", name="JUNTO_MODELS")
        names = told(upstream)
        refused = asked(client, "other__die")

    assert "the sum is 5" in facts["response"]
    assert facts["toolCalls"][0]["name"] == "other.add"
    assert "<data-" in facts["response"]
    assert "for it" in seen["response"]
    assert "nothing" in hidden["response"]
    assert {"other__add", "read_file"} <= names
    assert "other__die" not in names
    assert not refused["toolCalls"][0]["ok"]


def test_the_use_of_anothers_tool_is_written_down(tmp_path: Path, upstream: ServedUpstream) -> None:
    logs = {"JUNTO_LOGGING_OUTPUT": "files", "JUNTO_LOGGING_LEVEL": "info"}
    with served(tmp_path, upstream, other(tmp_path), **logs) as client:
        asked(client, "other__add", a=2, b=3)
        asked(client, "read_file", path="missing")
        client.finish()

    lines = (tmp_path / "data/junto/logs/audit.log").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    assert [(each["tool"], each["outcome"]) for each in told] == [
        ("other.add", "ok"), ("query", "ok"), ("read_file", "NotFound"), ("query", "ok"),
    ]  # fmt: skip


def test_a_junto_over_http_is_such_a_server_too(tmp_path: Path, upstream: ServedUpstream) -> None:
    home = tmp_path / "there"
    home.mkdir()
    with http_server(junto("serve", "--port", "0"), clean_environment(home), home) as (there, _):
        entry = {
            "name": "there",
            "url": f"http://127.0.0.1:{there.port}/mcp",
            "include": ["current_time"],
        }
        with served(tmp_path, upstream, entry) as client:
            facts = asked(client, "there__current_time", timezone="Asia/Taipei")

    assert "+08:00" in facts["response"]
    assert {name for name in told(upstream) if name.startswith("there")} == {"there__current_time"}


def test_a_dead_server_takes_only_its_own_tools_with_it(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    dead = {"name": "dead", "url": "http://127.0.0.1:9/mcp", "connect": 2}
    missing = {"name": "missing", "command": "/no/such/program"}
    with served(tmp_path, upstream, dead, missing, other(tmp_path)) as client:
        facts = asked(client, "other__add", a=1, b=1)

    assert "the sum is 2" in facts["response"]
    assert not any(name.startswith(("dead", "missing")) for name in told(upstream))


def test_a_server_that_ends_or_takes_too_long_is_reached_again(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with served(tmp_path, upstream, other(tmp_path, timeout=1)) as client:
        late = asked(client, "other__sleep")
        died = asked(client, "other__die")
        again = asked(client, "other__add", a=2, b=2)
        assert client.finish()[0] == 0

    assert "did not answer in 1 s" in late["response"]
    assert not died["toolCalls"][0]["ok"]
    assert "the sum is 4" in again["response"]
    assert not _processes(str(tmp_path / "other.py"))


def _processes(mark: str) -> list[int]:
    return [pid for pid, words in command_lines().items() if mark in words]


HANGS = "import time; time.sleep(1000)"


def test_a_server_that_never_answers_holds_up_neither_queries_nor_the_end(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    silent = {"name": "silent", "command": sys.executable, "args": ["-c", HANGS], "connect": 1}
    with served(tmp_path, upstream, silent, other(tmp_path)) as client:
        first = asked(client, "other__add", a=1, b=1)
        second = asked(client, "other__add", a=1, b=2)
        assert client.finish()[0] == 0

    assert "the sum is 2" in first["response"]
    assert "the sum is 3" in second["response"]
    assert not _processes(HANGS)


def test_two_servers_do_not_share_a_name(tmp_path: Path, upstream: ServedUpstream) -> None:
    with served(tmp_path, upstream, other(tmp_path), other(tmp_path)) as client:
        assert client.process.wait(30) == 2


@pytest.mark.parametrize("entry", [{"name": "x"}, {"name": "a b", "url": "http://x"}])
def test_a_server_needs_a_name_and_a_way(
    tmp_path: Path, upstream: ServedUpstream, entry: Json
) -> None:
    with served(tmp_path, upstream, entry) as client:
        assert client.process.wait(30) == 2
