"""Clients of a Junto server that runs the real Claude Code against a fake model server."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.clients import (
    HttpClient,
    Json,
    StdioClient,
    clean_environment,
    http_server,
    junto_command,
    request,
    stdio_server,
)
from tests.fake_model_server import FakeModelServer

API_KEY = "sk-ant-test-0123456789-never-to-be-seen"
# Runs until it is stopped: a child in the background, one in its own session and one in the
# foreground, all named after the mark so that `find_pids` finds them.
LONG_COMMAND = (
    "exec -a junto-test-{mark} tail -f /dev/null & "
    "setsid bash -c 'exec -a junto-test-{mark} tail -f /dev/null' & "
    "bash -c 'exec -a junto-test-{mark} tail -f /dev/null; true'"
)


def steps(*actions: Json) -> str:
    """Return a prompt that makes the fake model perform these actions in order."""
    return f"steps {json.dumps(actions)}"


def bash(command: str) -> Json:
    return {"name": "Bash", "input": {"command": command}}


def write(path: Path, content: str) -> Json:
    return {"name": "Write", "input": {"file_path": str(path), "content": content}}


def say(text: str) -> Json:
    return {"text": text}


def environment(home: Path, upstream: FakeModelServer, **variables: str) -> dict[str, str]:
    work = home / "work"
    work.mkdir(exist_ok=True)
    scratch = home / "tmp"
    scratch.mkdir(exist_ok=True)
    defaults = {
        "TMPDIR": str(scratch),
        "ANTHROPIC_API_KEY": API_KEY,
        "ANTHROPIC_BASE_URL": upstream.url,
        "JUNTO_PROVIDERS_REFRESH": "0",
        "JUNTO_TOOLS_ROOTS": str(work),
        "JUNTO_AGENT_ALLOWED_TOOLS": "bash",
        "JUNTO_AGENT_TIME_LIMIT": "120",
        "JUNTO_TOOLS_OVER_HTTP": "all",
        "JUNTO_STDIO_DRAIN": "1",
        "JUNTO_HTTP_DRAIN": "1",
        "JUNTO_JOBS_DRAIN": "0",
    }
    return clean_environment(home, **defaults | variables)


@contextlib.contextmanager
def stdio_client(home: Path, upstream: FakeModelServer, **variables: str) -> Iterator[StdioClient]:
    with stdio_server(
        junto_command("mcp"), environment(home, upstream, **variables), home / "work"
    ) as client:
        yield client


@contextlib.contextmanager
def http_client(
    home: Path, upstream: FakeModelServer, **variables: str
) -> Iterator[tuple[HttpClient, Any]]:
    command = junto_command("serve", "--port", "0")
    with http_server(
        command, environment(home, upstream, **variables), home / "work"
    ) as client_and_process:
        yield client_and_process


def run_agent(client: StdioClient | HttpClient, prompt: str, **arguments: Any) -> Json:
    """Run the agent with a prompt and return the structured content."""
    return call_for_content(client, "claude_code_query", prompt=prompt, **arguments)


def call_for_content(client: StdioClient | HttpClient, tool: str, **arguments: Any) -> Json:
    content: Json = call_tool(client, tool, **arguments)["structuredContent"]
    return content


def call_tool(client: StdioClient | HttpClient, tool: str, **arguments: Any) -> Json:
    if isinstance(client, HttpClient):
        reply = client.legacy("tools/call", name=tool, arguments=arguments)
        streamed = "event-stream" in reply.headers["content-type"]
        result: Json = (reply.events()[-1] if streamed else reply.json())["result"]
        return result
    return call_and_collect(client, tool, **arguments)[0]


def call_and_collect(
    client: StdioClient, tool: str, meta: Json | None = None, **arguments: Any
) -> tuple[Json, list[Json]]:
    """Return the result of a call and the notifications that preceded it."""
    params = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
    client.send(request(77, "tools/call", **params))
    notifications = []
    while "method" in (message := client.receive()):
        notifications.append(message)
    result: Json = message["result"]
    return result, notifications


def find_pids(*marks: str) -> list[int]:
    """Return the processes whose command line contains one of the marks."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command_line = (entry / "cmdline").read_bytes().decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and any(mark in command_line for mark in marks):
                found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]
