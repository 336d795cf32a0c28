"""Claude Code asks other models, through Junto's own tools."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.claude_code_server import (
    API_KEY,
    environment,
    http_client,
    run_agent,
    say,
    stdio_client,
    steps,
)
from tests.clients import Json, clean_environment
from tests.fake_model_server import FakeModelServer, fake_model_server


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


def test_the_agent_consults_another_model(tmp_path: Path, upstream: FakeModelServer) -> None:
    other = {"id": "other", "baseUrl": f"{upstream.url}/v1", "apiKey": "k"}
    variables = {"JUNTO_MODELS": json.dumps([other]), "JUNTO_AGENT_CONSULT": "true"}
    consult = {
        "name": "mcp__junto__chat",
        "input": {"message": "say Use fewer words.", "modelId": "other"},
    }
    with stdio_client(tmp_path, upstream, **variables) as client:
        consulting = run_agent(client, steps(consult, say("They say: fewer words.")))
    with stdio_client(tmp_path, upstream, JUNTO_MODELS=json.dumps([other])) as client:
        not_consulting = run_agent(client, steps(consult, say("Nobody to ask.")))

    [server] = consulting["messages"][0]["mcp_servers"]
    assert (server["name"], server["status"]) == ("junto", "connected")
    assert "Use fewer words." in json.dumps(consulting["messages"])
    assert consulting["result"] == {"success": True, "summary": "They say: fewer words."}
    assert not_consulting["messages"][0]["mcp_servers"] == []
    assert "Use fewer words." not in json.dumps(
        [each for each in not_consulting["messages"] if each["type"] == "user"]
    )


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_real_claude_code_calls_the_tool_and_gets_its_result(
    tmp_path: Path, upstream: FakeModelServer, transport: str
) -> None:
    if transport == "stdio":
        variables = environment(tmp_path, upstream)
        server: Json = {
            "command": sys.executable,
            "args": ["-m", "junto", "mcp"],
            "env": variables,
        }
        answer = _run_claude(tmp_path, upstream, server)
    else:
        with http_client(tmp_path, upstream) as (client, _):
            url = f"http://127.0.0.1:{client.port}/mcp"
            answer = _run_claude(tmp_path, upstream, {"type": "http", "url": url})

    assert (tmp_path / "work" / "made.txt").read_text() == "by an agent"
    assert "It is made." in answer["tool_result"]
    assert answer["result"] == "The agent did it."


def _run_claude(home: Path, upstream: FakeModelServer, server: Json) -> dict[str, Any]:
    """Run Claude Code as a client that calls the tool; return the tool's result and its own."""
    from junto.agent.claude_cli import find_program

    file = {"file_path": str(home / "work" / "made.txt"), "content": "by an agent"}
    inner = steps({"name": "Write", "input": file}, say("It is made."))
    call = {"name": "mcp__junto__claude_code_query", "input": {"prompt": inner}}
    config = home / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"junto": server}}))
    command = [
        str(find_program(None)), "-p", steps(call, say("The agent did it.")),
        "--mcp-config", str(config), "--strict-mcp-config", "--verbose",
        "--allowedTools", "mcp__junto__claude_code_query", "--output-format", "stream-json",
        "--setting-sources=",
    ]  # fmt: skip
    variables = clean_environment(
        home,
        ANTHROPIC_API_KEY=API_KEY,
        ANTHROPIC_BASE_URL=upstream.url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDE_CONFIG_DIR=str(home / "claude"),
    )
    completed = subprocess.run(
        command, env=variables, cwd=home, capture_output=True, timeout=60, check=True
    )
    messages = [json.loads(line) for line in completed.stdout.splitlines()]
    results = [
        block
        for message in messages
        if message["type"] == "user"
        for block in message["message"]["content"]
        if block["type"] == "tool_result"
    ]
    return {"tool_result": json.dumps(results), "result": messages[-1]["result"]}
