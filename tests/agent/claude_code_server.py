"""Claude Code itself, run by a Junto in a process of its own, against a model on loopback."""

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
    child,
    clean_environment,
    http_server,
    junto,
    request,
)
from tests.server_upstream import ServedUpstream

KEY = "sk-ant-test-0123456789-never-to-be-seen"
# What a run does for long: a child in the background, one in a session of its own, one in front.
# The first words tell whose they are.
LONG = (
    "exec -a junto-test-{mark} tail -f /dev/null & "
    "setsid bash -c 'exec -a junto-test-{mark} tail -f /dev/null' & "
    "bash -c 'exec -a junto-test-{mark} tail -f /dev/null; true'"
)


def steps(*each: Json) -> str:
    """Return a prompt that tells the model what to do in turn."""
    return f"steps {json.dumps(each)}"


def bash(command: str) -> Json:
    return {"name": "Bash", "input": {"command": command}}


def write(path: Path, content: str) -> Json:
    return {"name": "Write", "input": {"file_path": str(path), "content": content}}


def says(text: str) -> Json:
    return {"text": text}


def environment(home: Path, upstream: ServedUpstream, **more: str) -> dict[str, str]:
    work = home / "work"
    work.mkdir(exist_ok=True)
    scratch = home / "tmp"
    scratch.mkdir(exist_ok=True)
    usual = {
        "TMPDIR": str(scratch),
        "ANTHROPIC_API_KEY": KEY,
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
    return clean_environment(home, **usual | more)


@contextlib.contextmanager
def on_stdio(home: Path, upstream: ServedUpstream, **more: str) -> Iterator[StdioClient]:
    with child(junto("mcp"), environment(home, upstream, **more), home / "work") as client:
        yield client


@contextlib.contextmanager
def on_http(home: Path, upstream: ServedUpstream, **more: str) -> Iterator[tuple[HttpClient, Any]]:
    command = junto("serve", "--port", "0")
    with http_server(command, environment(home, upstream, **more), home / "work") as served:
        yield served


def query(client: StdioClient | HttpClient, prompt: str, **arguments: Any) -> Json:
    """Have the agent do something, and return the structured result."""
    return facts(client, "claude_code_query", prompt=prompt, **arguments)


def facts(client: StdioClient | HttpClient, tool: str, **arguments: Any) -> Json:
    found: Json = whole(client, tool, **arguments)["structuredContent"]
    return found


def whole(client: StdioClient | HttpClient, tool: str, **arguments: Any) -> Json:
    if isinstance(client, HttpClient):
        reply = client.legacy("tools/call", name=tool, arguments=arguments)
        streamed = "event-stream" in reply.headers["content-type"]
        result: Json = (reply.events()[-1] if streamed else reply.json())["result"]
        return result
    return told(client, tool, **arguments)[0]


def told(
    client: StdioClient, tool: str, meta: Json | None = None, **arguments: Any
) -> tuple[Json, list[Json]]:
    """Return the result of a call, and all that came before it."""
    params = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
    client.send(request(77, "tools/call", **params))
    before = []
    while "method" in (message := client.receive()):
        before.append(message)
    result: Json = message["result"]
    return result, before


def processes(*marks: str) -> list[int]:
    """Return the processes of runs: those that a mark names, and the programs of this test."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and any(mark in words for mark in marks):
                found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]
