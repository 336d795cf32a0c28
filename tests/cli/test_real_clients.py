"""What `junto install` writes, read by the clients themselves: Claude Code and Gemini CLI.

They talk to models on loopback, and a proxy that nobody serves keeps them from talking to others.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from junto.agent.program import found
from tests.clients import HttpClient, Json, clean_environment, http_server, junto
from tests.providers.strangers import AIMOCK, NODE, aimock
from tests.server_upstream import served_upstream

CLAUDE = found(None)
GEMINI = NODE / "gemini"
KEY = "test-key-0123456789"
SECONDS = 50

needs_claude = pytest.mark.skipif(not CLAUDE, reason="Claude Code is not installed")
needs_gemini = pytest.mark.skipif(not GEMINI.exists(), reason="npm has not been there")


def environment(home: Path, **variables: str) -> dict[str, str]:
    quiet = {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(home / "claude"),
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "JUNTO_PROVIDERS_REFRESH": "0",
    }
    base = clean_environment(home, **quiet | variables)
    return base | {"PATH": f"{NODE}{os.pathsep}{base['PATH']}"}


def run(home: Path, *words: str, **variables: str) -> str:
    done = subprocess.run(
        words,
        env=environment(home, **variables),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def at(tmp_path: Path) -> Iterator[HttpClient]:
    serving = junto("serve", "--port", "0")
    with http_server(serving, clean_environment(tmp_path), tmp_path) as (client, _):
        yield client


@needs_claude
def test_claude_code_connects_and_lets_go(tmp_path: Path) -> None:
    run(tmp_path, *junto("install", "claude-code"))

    listed = run(tmp_path, str(CLAUDE), "mcp", "list")
    assert "junto mcp - ✔ Connected" in listed
    # It has written its file anew by now, in its own way.
    assert "already there" in run(tmp_path, *junto("install", "claude-code"))

    run(tmp_path, *junto("uninstall", "claude-code"))
    assert "No MCP servers configured" in run(tmp_path, str(CLAUDE), "mcp", "list")


@needs_claude
def test_claude_code_connects_to_an_address(tmp_path: Path, at: HttpClient) -> None:
    run(tmp_path, *junto("install", "claude-code", "--http"), JUNTO_HTTP_PORT=str(at.port))

    listed = run(tmp_path, str(CLAUDE), "mcp", "list")

    assert f"http://127.0.0.1:{at.port}/mcp (HTTP) - ✔ Connected" in listed


@needs_claude
def test_claude_code_asks_before_it_uses_what_came_with_a_project(tmp_path: Path) -> None:
    run(tmp_path, *junto("install", "claude-code", "--scope", "project"))

    assert "Pending approval" in run(tmp_path, str(CLAUDE), "mcp", "list")


@needs_claude
def test_claude_code_calls_a_tool(tmp_path: Path) -> None:
    run(tmp_path, *junto("install", "claude-code"))
    tool = "mcp__junto__current_time"
    steps = [{"name": tool, "input": {"timezone": "UTC"}}, {"text": "So late already."}]

    with served_upstream() as upstream:
        prompt = ("-p", f"steps {json.dumps(steps)}", "--allowedTools", tool)
        variables = {"ANTHROPIC_BASE_URL": upstream.url, "ANTHROPIC_API_KEY": KEY}
        said = run(tmp_path, str(CLAUDE), *prompt, **variables)

    assert "So late already." in said
    assert "iso8601" in str(upstream.bodies[-1]["messages"])


@needs_gemini
def test_gemini_connects_and_lets_go(tmp_path: Path) -> None:
    run(tmp_path, *junto("install", "gemini"))

    assert "junto mcp (stdio) - Connected" in run(tmp_path, str(GEMINI), "mcp", "list")

    run(tmp_path, *junto("uninstall", "gemini"))
    assert "No MCP servers configured" in run(tmp_path, str(GEMINI), "mcp", "list")


@needs_gemini
def test_gemini_connects_to_an_address(tmp_path: Path, at: HttpClient) -> None:
    run(tmp_path, *junto("install", "gemini", "--http"), JUNTO_HTTP_PORT=str(at.port))

    listed = run(tmp_path, str(GEMINI), "mcp", "list")

    assert f"http://127.0.0.1:{at.port}/mcp (http) - Connected" in listed


@needs_gemini
@pytest.mark.skipif(not AIMOCK.exists(), reason="npm has not been there")
def test_gemini_calls_a_tool_and_passes_our_keys_on(tmp_path: Path) -> None:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps(chosen | {"privacy": {"usageStatisticsEnabled": False}}))
    run(tmp_path, *junto("install", "gemini"))
    call = {"name": "mcp_junto_list_models", "arguments": "{}"}
    fixtures: list[Json] = [
        {"match": {"toolResultContains": "claude"}, "response": {"content": "Claude is here."}},
        {"match": {"userMessage": "which models"}, "response": {"toolCalls": [call]}},
    ]

    with aimock(tmp_path, KEY, fixtures) as url:
        words = ("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-o", "json")
        keys = {"GEMINI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}
        said = run(tmp_path, str(GEMINI), *words, "-p", "which models are there?", **keys)

    assert "Claude is here." in said
