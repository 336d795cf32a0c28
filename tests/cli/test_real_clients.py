"""What `junto install` writes, read by the clients themselves: Claude Code, Gemini CLI and Codex.

They talk to models on loopback, and a proxy that nobody serves keeps them from talking to others.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from junto.agent.program import found
from tests.clients import (
    HTTP_TOOLS,
    TOOLS,
    HttpClient,
    Json,
    clean_environment,
    http_server,
    junto,
)
from tests.providers.strangers import AIMOCK, NODE, aimock
from tests.responses_upstream import served_responses
from tests.server_upstream import served_upstream

CLAUDE = found(None)
GEMINI = NODE / "gemini"
CODEX = NODE / "codex"
KEY = "test-key-0123456789"
SECONDS = 50

needs_claude = pytest.mark.skipif(not CLAUDE, reason="Claude Code is not installed")
needs_gemini = pytest.mark.skipif(not GEMINI.exists(), reason="npm has not been there")
# Its program is in a package for each system, which `npm install --omit=optional` leaves out.
needs_codex = pytest.mark.skipif(
    not any(NODE.parent.glob("@openai/codex-*")), reason="npm has not been there"
)
needs_aimock = pytest.mark.skipif(not AIMOCK.exists(), reason="npm has not been there")

Install = Callable[[str], str]


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


@pytest.fixture
def on_stdio(tmp_path: Path) -> Install:
    """Return what has a client start Junto itself."""
    return lambda client: run(tmp_path, *junto("install", client))


@pytest.fixture
def over_http(tmp_path: Path, at: HttpClient) -> Install:
    """Return what has a client connect to a Junto that runs."""
    port = str(at.port)
    return lambda client: run(tmp_path, *junto("install", client, "--http"), JUNTO_HTTP_PORT=port)


@pytest.fixture(params=["on_stdio", "over_http"])
def install(request: pytest.FixtureRequest) -> Install:
    install: Install = request.getfixturevalue(request.param)
    return install


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
def test_claude_code_calls_a_tool(tmp_path: Path, install: Install) -> None:
    install("claude-code")
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


@pytest.fixture
def gemini_home(tmp_path: Path) -> Path:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps(chosen | {"privacy": {"usageStatisticsEnabled": False}}))
    return tmp_path


def asked_gemini(home: Path, tool: str, given: str) -> str:
    """Have Gemini's model call `tool`, and say its last word only if that gave what it should."""
    call = {"name": f"mcp_junto_{tool}", "arguments": "{}"}
    fixtures: list[Json] = [
        {"match": {"toolResultContains": given}, "response": {"content": "So that is it."}},
        {"match": {"userMessage": "find out"}, "response": {"toolCalls": [call]}},
    ]
    with aimock(home, KEY, fixtures) as url:
        words = ("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-o", "json")
        keys = {"GEMINI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}
        return run(home, str(GEMINI), *words, "-p", "find out", **keys)


@needs_gemini
@needs_aimock
def test_gemini_calls_a_tool(gemini_home: Path, install: Install) -> None:
    install("gemini")

    assert "So that is it." in asked_gemini(gemini_home, "current_time", given="UTC")


@needs_gemini
@needs_aimock
def test_gemini_passes_our_keys_on(gemini_home: Path, on_stdio: Install) -> None:
    on_stdio("gemini")

    assert "So that is it." in asked_gemini(gemini_home, "list_models", given="claude")


def asked_codex(home: Path, tool: str) -> tuple[list[str], str]:
    """Have Codex's model call `tool`; return the tools it was offered, and what the call gave."""
    call = {"namespace": "mcp__junto", "name": tool, "arguments": "{}"}
    with served_responses(call, ending="So that is it.") as responses:
        provider = (
            f'{{name="x", base_url="{responses.url}", env_key="X_KEY", wire_api="responses"}}'
        )
        words = ("-c", "model_provider=x", "-c", f"model_providers.x={provider}", "-m", "x")
        keys = {"X_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
        said = run(home, str(CODEX), "exec", "--skip-git-repo-check", *words, "find out", **keys)
    assert "So that is it." in said
    offered = responses.bodies[0]["tools"]
    (ours,) = [each["tools"] for each in offered if each.get("name") == "mcp__junto"]
    return [tool["name"] for tool in ours], responses.given()


@needs_codex
def test_codex_has_the_entry_and_lets_go(tmp_path: Path, install: Install) -> None:
    install("codex")
    assert re.search(r"(?m)^junto .* enabled ", run(tmp_path, str(CODEX), "mcp", "list"))

    run(tmp_path, *junto("uninstall", "codex"))
    assert "No MCP servers configured" in run(tmp_path, str(CODEX), "mcp", "list")


@needs_codex
def test_codex_calls_a_tool_and_passes_our_keys_on(tmp_path: Path, on_stdio: Install) -> None:
    on_stdio("codex")

    offered, given = asked_codex(tmp_path, "list_models")

    assert sorted(offered) == sorted(TOOLS)
    assert "claude" in given


@needs_codex
def test_codex_calls_a_tool_at_an_address(tmp_path: Path, over_http: Install) -> None:
    over_http("codex")

    offered, given = asked_codex(tmp_path, "current_time")

    assert sorted(offered) == sorted(HTTP_TOOLS)
    assert "iso8601" in given
