"""What `junto install` writes, read by the clients themselves: Claude Code, Gemini CLI and Codex.

They use model servers on loopback; a proxy address where nothing listens blocks all other traffic.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from junto.agent.claude_cli import find_program
from tests.clients import (
    HttpClient,
    Json,
    clean_environment,
    http_server,
    junto_command,
    tool_names,
)
from tests.fake_model_server import fake_model_server
from tests.fake_responses_api import fake_responses_api
from tests.providers.compat_servers import AIMOCK, NODE, aimock

CLAUDE = find_program(None)
GEMINI = NODE / "gemini"
CODEX = NODE / "codex"
API_KEY = "test-key-0123456789"
CLIENT_TIMEOUT_SECONDS = 50

needs_claude = pytest.mark.skipif(not CLAUDE, reason="Claude Code is not installed")
needs_gemini = pytest.mark.skipif(not GEMINI.exists(), reason="npm has not been there")
# Its binary is in a package per platform, which `npm install --omit=optional` leaves out.
needs_codex = pytest.mark.skipif(
    not any(NODE.parent.glob("@openai/codex-*")), reason="npm has not been there"
)
needs_aimock = pytest.mark.skipif(not AIMOCK.exists(), reason="npm has not been there")

Install = Callable[[str], str]


def environment(home: Path, **variables: str) -> dict[str, str]:
    isolation = {
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
    base = clean_environment(home, **isolation | variables)
    return base | {"PATH": f"{NODE}{os.pathsep}{base['PATH']}"}


def run(home: Path, *words: str, **variables: str) -> str:
    result = subprocess.run(
        words,
        env=environment(home, **variables),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CLIENT_TIMEOUT_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.fixture
def http_client(tmp_path: Path) -> Iterator[HttpClient]:
    command = junto_command("serve", "--port", "0")
    with http_server(command, clean_environment(tmp_path), tmp_path) as (client, _):
        yield client


@pytest.fixture
def install_stdio(tmp_path: Path) -> Install:
    """Return a function that configures a client to start Junto itself."""
    return lambda client: run(tmp_path, *junto_command("install", client))


@pytest.fixture
def install_http(tmp_path: Path, http_client: HttpClient) -> Install:
    """Return a function that configures a client to connect to a running Junto."""
    port = str(http_client.port)
    return lambda client: run(
        tmp_path, *junto_command("install", client, "--http"), JUNTO_HTTP_PORT=port
    )


@pytest.fixture(params=["install_stdio", "install_http"])
def install(request: pytest.FixtureRequest) -> Install:
    install: Install = request.getfixturevalue(request.param)
    return install


@needs_claude
def test_claude_code_connects_until_junto_is_uninstalled(tmp_path: Path) -> None:
    run(tmp_path, *junto_command("install", "claude-code"))

    listed = run(tmp_path, str(CLAUDE), "mcp", "list")
    assert "junto mcp - ✔ Connected" in listed
    # Claude Code has rewritten the file in its own format by now.
    assert "already there" in run(tmp_path, *junto_command("install", "claude-code"))

    run(tmp_path, *junto_command("uninstall", "claude-code"))
    assert "No MCP servers configured" in run(tmp_path, str(CLAUDE), "mcp", "list")


@needs_claude
def test_claude_code_connects_over_http(tmp_path: Path, http_client: HttpClient) -> None:
    run(
        tmp_path,
        *junto_command("install", "claude-code", "--http"),
        JUNTO_HTTP_PORT=str(http_client.port),
    )

    listed = run(tmp_path, str(CLAUDE), "mcp", "list")

    assert f"http://127.0.0.1:{http_client.port}/mcp (HTTP) - ✔ Connected" in listed


@needs_claude
def test_claude_code_asks_before_it_uses_a_server_of_a_project(tmp_path: Path) -> None:
    run(tmp_path, *junto_command("install", "claude-code", "--scope", "project"))

    assert "Pending approval" in run(tmp_path, str(CLAUDE), "mcp", "list")


@needs_claude
def test_claude_code_calls_a_tool(tmp_path: Path, install: Install) -> None:
    install("claude-code")
    tool = "mcp__junto__current_time"
    steps = [{"name": tool, "input": {"timezone": "UTC"}}, {"text": "So late already."}]

    with fake_model_server() as upstream:
        prompt = ("-p", f"steps {json.dumps(steps)}", "--allowedTools", tool)
        variables = {"ANTHROPIC_BASE_URL": upstream.url, "ANTHROPIC_API_KEY": API_KEY}
        output = run(tmp_path, str(CLAUDE), *prompt, **variables)

    assert "So late already." in output
    assert "iso8601" in str(upstream.bodies[-1]["messages"])


@needs_gemini
def test_gemini_connects_until_junto_is_uninstalled(tmp_path: Path) -> None:
    run(tmp_path, *junto_command("install", "gemini"))

    assert "junto mcp (stdio) - Connected" in run(tmp_path, str(GEMINI), "mcp", "list")

    run(tmp_path, *junto_command("uninstall", "gemini"))
    assert "No MCP servers configured" in run(tmp_path, str(GEMINI), "mcp", "list")


@needs_gemini
def test_gemini_connects_over_http(tmp_path: Path, http_client: HttpClient) -> None:
    run(
        tmp_path,
        *junto_command("install", "gemini", "--http"),
        JUNTO_HTTP_PORT=str(http_client.port),
    )

    listed = run(tmp_path, str(GEMINI), "mcp", "list")

    assert f"http://127.0.0.1:{http_client.port}/mcp (http) - Connected" in listed


@pytest.fixture
def gemini_home(tmp_path: Path) -> Path:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps(auth | {"privacy": {"usageStatisticsEnabled": False}}))
    return tmp_path


def ask_gemini(home: Path, tool: str, expected: str) -> str:
    """Have Gemini's model call `tool`; it only answers if the result contains `expected`."""
    call = {"name": f"mcp_junto_{tool}", "arguments": "{}"}
    fixtures: list[Json] = [
        {"match": {"toolResultContains": expected}, "response": {"content": "So that is it."}},
        {"match": {"userMessage": "find out"}, "response": {"toolCalls": [call]}},
    ]
    with aimock(home, API_KEY, fixtures) as url:
        options = ("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-o", "json")
        keys = {
            "GEMINI_API_KEY": API_KEY,
            "ANTHROPIC_API_KEY": API_KEY,
            "GOOGLE_GEMINI_BASE_URL": url,
        }
        return run(home, str(GEMINI), *options, "-p", "find out", **keys)


@needs_gemini
@needs_aimock
def test_gemini_calls_a_tool(gemini_home: Path, install: Install) -> None:
    install("gemini")

    assert "So that is it." in ask_gemini(gemini_home, "current_time", expected="UTC")


@needs_gemini
@needs_aimock
def test_gemini_passes_api_keys_to_junto(gemini_home: Path, install_stdio: Install) -> None:
    install_stdio("gemini")

    assert "So that is it." in ask_gemini(gemini_home, "list_models", expected="claude")


def ask_codex(home: Path, tool: str) -> tuple[list[str], str]:
    """Have Codex's model call `tool`; return the tools it was offered and the result."""
    call = {"namespace": "mcp__junto", "name": tool, "arguments": "{}"}
    with fake_responses_api(call, ending="So that is it.") as responses:
        provider = (
            f'{{name="x", base_url="{responses.url}", env_key="X_KEY", wire_api="responses"}}'
        )
        options = ("-c", "model_provider=x", "-c", f"model_providers.x={provider}", "-m", "x")
        keys = {"X_KEY": API_KEY, "ANTHROPIC_API_KEY": API_KEY}
        output = run(
            home, str(CODEX), "exec", "--skip-git-repo-check", *options, "find out", **keys
        )
    assert "So that is it." in output
    offered = responses.bodies[0]["tools"]
    (junto_tools,) = [
        namespace["tools"] for namespace in offered if namespace.get("name") == "mcp__junto"
    ]
    return [tool["name"] for tool in junto_tools], responses.given()


@needs_codex
def test_codex_lists_the_entry_until_junto_is_uninstalled(tmp_path: Path, install: Install) -> None:
    install("codex")
    assert re.search(r"(?m)^junto .* enabled ", run(tmp_path, str(CODEX), "mcp", "list"))

    run(tmp_path, *junto_command("uninstall", "codex"))
    assert "No MCP servers configured" in run(tmp_path, str(CODEX), "mcp", "list")


@needs_codex
def test_codex_calls_a_tool_and_passes_api_keys_to_junto(
    tmp_path: Path, install_stdio: Install
) -> None:
    install_stdio("codex")

    offered, result = ask_codex(tmp_path, "list_models")

    assert sorted(offered) == sorted(tool_names())
    assert "claude" in result


@needs_codex
def test_codex_calls_a_tool_over_http(tmp_path: Path, install_http: Install) -> None:
    install_http("codex")

    offered, result = ask_codex(tmp_path, "current_time")

    assert sorted(offered) == sorted(tool_names(over_http=True))
    assert "iso8601" in result
