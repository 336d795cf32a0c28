"""Claude Code asks other models, through Junto's own tools."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.harness import KEY, environment, on_http, on_stdio, query, says, steps
from tests.clients import Json, clean_environment
from tests.server_upstream import ServedUpstream, served_upstream


@pytest.fixture(scope="module")
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


def test_the_agent_consults_another_model(tmp_path: Path, upstream: ServedUpstream) -> None:
    other = {"id": "other", "baseUrl": f"{upstream.url}/v1", "apiKey": "k"}
    more = {"JUNTO_MODELS": json.dumps([other]), "JUNTO_AGENT_CONSULT": "true"}
    ask = {
        "name": "mcp__junto__chat",
        "input": {"message": "say Use fewer words.", "modelId": "other"},
    }
    with on_stdio(tmp_path, upstream, **more) as client:
        ran = query(client, steps(ask, says("They say: fewer words.")))
    with on_stdio(tmp_path, upstream, JUNTO_MODELS=json.dumps([other])) as client:
        alone = query(client, steps(ask, says("Nobody to ask.")))

    [server] = ran["messages"][0]["mcp_servers"]
    assert (server["name"], server["status"]) == ("junto", "connected")
    assert "Use fewer words." in json.dumps(ran["messages"])
    assert ran["result"] == {"success": True, "summary": "They say: fewer words."}
    assert alone["messages"][0]["mcp_servers"] == []
    assert "Use fewer words." not in json.dumps(
        [each for each in alone["messages"] if each["type"] == "user"]
    )


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_real_claude_calls_it_and_gets_its_result(
    tmp_path: Path, upstream: ServedUpstream, way: str
) -> None:
    if way == "stdio":
        variables = environment(tmp_path, upstream)
        server: Json = {
            "command": sys.executable,
            "args": ["-m", "junto", "mcp"],
            "env": variables,
        }
        answer = _claude(tmp_path, upstream, server)
    else:
        with on_http(tmp_path, upstream) as (client, _):
            url = f"http://127.0.0.1:{client.port}/mcp"
            answer = _claude(tmp_path, upstream, {"type": "http", "url": url})

    assert (tmp_path / "work" / "made.txt").read_text() == "by an agent"
    assert "It is made." in answer["tool_result"]
    assert answer["result"] == "The agent did it."


def _claude(home: Path, upstream: ServedUpstream, server: Json) -> dict[str, Any]:
    """Have the real program, as a client, call the tool; return what it got and what it said."""
    from junto.agent.program import found

    made = {"file_path": str(home / "work" / "made.txt"), "content": "by an agent"}
    inner = steps({"name": "Write", "input": made}, says("It is made."))
    call = {"name": "mcp__junto__claude_code_query", "input": {"prompt": inner}}
    config = home / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"junto": server}}))
    command = [
        str(found(None)), "-p", steps(call, says("The agent did it.")),
        "--mcp-config", str(config), "--strict-mcp-config", "--verbose",
        "--allowedTools", "mcp__junto__claude_code_query", "--output-format", "stream-json",
        "--setting-sources=",
    ]  # fmt: skip
    variables = clean_environment(
        home,
        ANTHROPIC_API_KEY=KEY,
        ANTHROPIC_BASE_URL=upstream.url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDE_CONFIG_DIR=str(home / "claude"),
    )
    done = subprocess.run(
        command, env=variables, cwd=home, capture_output=True, timeout=60, check=True
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    results = [
        block
        for message in messages
        if message["type"] == "user"
        for block in message["message"]["content"]
        if block["type"] == "tool_result"
    ]
    return {"tool_result": json.dumps(results), "result": messages[-1]["result"]}
