"""Models that use tools, over MCP and with both provider APIs, and the limits on that use."""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import (
    Json,
    StdioClient,
    clean_environment,
    environment_with_roots,
    junto_command,
    notification,
    request,
    stdio_server,
)
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.processes import command_lines, wait_until


@pytest.fixture
def upstream() -> Any:
    with fake_model_server() as upstream:
        yield upstream


@pytest.fixture
def client(tmp_path: Path, upstream: FakeModelServer) -> Iterator[StdioClient]:
    with junto_server(tmp_path, upstream) as client:
        yield client


@pytest.fixture(scope="module")
def shared_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioClient]:
    """A client shared by tests that look only at their own answer."""
    home = tmp_path_factory.mktemp("shared")
    with fake_model_server() as upstream, junto_server(home, upstream) as client:
        yield client


@contextlib.contextmanager
def junto_server(home: Path, upstream: FakeModelServer) -> Iterator[StdioClient]:
    price = {"input": 3, "output": 15}
    a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k", "price": price}
    plain = {**b, "id": "plain", "capabilities": {"tools": False}}
    models = json.dumps([a | {"price": price}, b, plain])
    (home / "notes.txt").write_text("The answer is 42.\nIt always was.\n")
    environment = environment_with_roots(home, JUNTO_MODELS=models, JUNTO_ANSWERS_MAX_RETRIES="0")
    with stdio_server(junto_command("mcp"), environment, home) as client:
        yield client


def call_tool(client: StdioClient, tool: str, **arguments: Any) -> Json:
    result: Json = client.ask(1, "tools/call", name=tool, arguments=arguments)["result"]
    facts: Json = result["structuredContent"]
    return facts


def tool_prompt(*calls: tuple[str, Json], word: str = "use") -> str:
    return f"{word} " + json.dumps([{"name": n, "arguments": a} for n, a in calls])


READ_CALL = ("read_file", {"path": "notes.txt"})
COUNT_CALL = ("execute_command", {"command": "wc", "args": ["-l", "notes.txt"]})


@pytest.mark.feature("F099", "F100", "F101", "F161", "F043")
@pytest.mark.parametrize("model", ["a", "b"])
def test_a_model_reads_a_file_runs_a_command_and_answers_with_both(
    client: StdioClient, upstream: FakeModelServer, model: str
) -> None:
    facts = call_tool(client, "query", prompt=tool_prompt(READ_CALL, COUNT_CALL), modelId=model)

    assert "The answer is 42." in facts["response"]
    assert "2 notes.txt" in facts["response"]
    assert [(call["name"], call["ok"]) for call in facts["toolCalls"]] == [
        ("read_file", True), ("execute_command", True),
    ]  # fmt: skip
    assert facts["sources"] == [{"id": "1", "title": "notes.txt", "url": "file:///notes.txt"}]
    # Both rounds are counted.
    assert facts["usage"]["inputTokens"] == 20
    assert facts["usage"]["costUsd"] == pytest.approx(0.00021)
    tools = json.dumps(upstream.bodies[0]["tools"])
    assert "read_file" in tools
    assert '"chat"' not in tools


@pytest.mark.feature("F018")
def test_the_client_and_the_model_share_the_same_tools_and_settings(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "notes.txt").write_text("42")
    (tmp_path / "secret.txt").write_text("private")
    environment = clean_environment(
        tmp_path,
        JUNTO_MODELS=json.dumps([model]),
        JUNTO_TOOLS_ROOTS=str(allowed),
        JUNTO_TOOLS_TIMEZONE="Asia/Taipei",
        JUNTO_TOOLS_DISABLED="http_get",
    )
    outside = {"path": str(tmp_path / "secret.txt")}
    prompt = tool_prompt(
        ("read_file", {"path": "notes.txt"}), ("read_file", outside), ("current_time", {})
    )
    with stdio_server(junto_command("mcp"), environment, tmp_path) as client:
        listed = {tool["name"] for tool in client.ask(1, "tools/list")["result"]["tools"]}
        refused = call_tool(client, "read_file", **outside)
        time = call_tool(client, "current_time")
        answer = call_tool(client, "query", prompt=prompt)

    offered = {tool["name"] for tool in upstream.bodies[0]["tools"]}
    assert offered <= listed
    assert {"read_file", "current_time"} <= offered
    assert "http_get" not in listed
    assert [call["ok"] for call in answer["toolCalls"]] == [True, False, True]
    assert refused["message"] in answer["response"]
    assert time["timezone"] == "Asia/Taipei"
    assert "Asia/Taipei" in answer["response"]
    assert "private" not in json.dumps(upstream.bodies)


def test_tool_output_is_marked_as_data(client: StdioClient, upstream: FakeModelServer) -> None:
    call_tool(client, "query", prompt=tool_prompt(READ_CALL))

    tool_result = json.dumps(upstream.bodies[1]["messages"][-1])
    assert "<data-" in tool_result
    assert "not instructions" in tool_result


def test_a_session_remembers_tool_results(client: StdioClient) -> None:
    first = call_tool(client, "query", prompt=tool_prompt(READ_CALL))
    arguments = {"conversationId": first["sessionId"]}
    history = client.ask(1, "tools/call", name="conversation_history", arguments=arguments)
    second = call_tool(client, "query", prompt="and now?", sessionId=first["sessionId"])

    text = history["result"]["content"][0]["text"]
    assert re.findall(r"(?m)^(user|assistant)\b", text) == ["user", "assistant"] * 2
    assert second["response"].startswith("a heard 5")


def test_chat_uses_tools_only_when_they_are_enabled(
    client: StdioClient, upstream: FakeModelServer
) -> None:
    call_tool(client, "chat", message=tool_prompt(READ_CALL))
    with_tools = call_tool(client, "chat", message=tool_prompt(READ_CALL), tools=True)

    assert "tools" not in upstream.bodies[0]
    assert "42" in with_tools["response"]
    assert with_tools["toolCalls"][0]["name"] == "read_file"


@pytest.mark.feature("F102")
def test_a_model_that_never_stops_calling_tools_is_stopped_and_its_calls_are_reported(
    client: StdioClient, upstream: FakeModelServer
) -> None:
    facts = call_tool(client, "query", prompt=tool_prompt(READ_CALL, word="use-on"))

    assert facts["code"] == "ModelError"
    assert "Tool loop exceeded max iterations" in facts["message"]
    assert len(facts["toolCalls"]) == 10
    assert len(upstream.bodies) == 10
    assert call_tool(client, "list_conversations")["conversations"] == []


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("read_file", {"path": "/etc/passwd"}, "lies outside"),
        ("read_file", {"path": "missing"}, "There is no missing"),
        ("read_file", {"wrong": 1}, "path is required"),
        ("chat", {"message": "x"}, "There is no tool"),
        ("no_such", {}, "There is no tool"),
        ("execute_command", {"command": "sh", "args": ["-c", "id"]}, "may not be run"),
    ],
)
@pytest.mark.parametrize("model", ["a", "b"])
def test_a_tool_failure_is_passed_to_the_model_and_the_loop_continues(
    shared_client: StdioClient, name: str, arguments: Json, reason: str, model: str
) -> None:
    facts = call_tool(shared_client, "query", prompt=tool_prompt((name, arguments)), modelId=model)

    assert reason in facts["response"]
    assert facts["toolCalls"] == [{"name": name, "arguments": arguments, "ok": False}]
    assert "sources" not in facts


def test_a_model_without_tool_support_is_sent_no_tools(
    client: StdioClient, upstream: FakeModelServer
) -> None:
    facts = call_tool(client, "query", prompt="hi", modelId="plain")

    assert facts["response"] == "b heard 1: hi".replace("b", "plain", 1)
    assert "tools" not in upstream.bodies[0]


@pytest.mark.parametrize(
    "printed",
    [
        '{"name": "read_file", "arguments": {"path": "notes.txt"}}',
        '```json\n{"name": "read_file", "parameters": {"path": "notes.txt"}}\n```',
        '<tool_call>\n[{"name": "read_file", "arguments": {"path": "notes.txt"}}]\n</tool_call>',
    ],
)
def test_a_tool_call_that_a_small_model_prints_as_text_is_run(
    client: StdioClient, upstream: FakeModelServer, printed: str
) -> None:
    facts = call_tool(client, "query", prompt=f"say {printed}")

    assert facts["toolCalls"] == [
        {"name": "read_file", "arguments": {"path": "notes.txt"}, "ok": True}
    ]
    assert "42" in json.dumps(upstream.bodies[1])


def test_cancelling_a_query_ends_the_command_that_its_model_started(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    command = [{"name": "bash", "anything": True}]
    environment = environment_with_roots(
        tmp_path, JUNTO_MODELS=json.dumps([model]), JUNTO_TOOLS_COMMANDS=json.dumps(command)
    )
    mark = f"1000.{os.getpid()}9"
    script = f"(setsid sleep {mark} &); sleep {mark}"
    prompt = tool_prompt(("execute_command", {"command": "bash", "args": ["-c", script]}))
    with stdio_server(junto_command("mcp"), environment, tmp_path) as client:
        client.send(request(7, "tools/call", name="query", arguments={"prompt": prompt}))
        assert wait_until(lambda: len(_find_sleep_pids(mark)) >= 2)
        client.send(notification("notifications/cancelled", requestId=7))
        assert wait_until(lambda: not _find_sleep_pids(mark))
        assert wait_until(lambda: call_tool(client, "job")["jobs"][0]["state"] == "cancelled")


def _find_sleep_pids(mark: str) -> list[int]:
    return [pid for pid, words in command_lines().items() if words[:2] == ["sleep", mark]]


def test_a_budget_exceeded_between_two_rounds_saves_nothing(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    # Enough for one question with the longest possible answer, but not for a second.
    price = {"input": 1, "output": 1000}
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    (tmp_path / "notes.txt").write_text("42")
    environment = environment_with_roots(
        tmp_path,
        JUNTO_MODELS=json.dumps([model | {"price": price}]),
        JUNTO_BUDGET_LIMIT="4.1",
        JUNTO_ANSWERS_MAX_TOKENS="4096",
    )
    with stdio_server(junto_command("mcp"), environment, tmp_path) as client:
        refused = call_tool(client, "query", prompt=tool_prompt(READ_CALL))
        listed = call_tool(client, "list_conversations")

    assert refused["code"] == "BudgetExceeded"
    assert len(upstream.bodies) == 1
    assert listed["conversations"] == []


def test_text_that_only_looks_like_a_tool_call_is_returned_as_text(
    shared_client: StdioClient,
) -> None:
    text = '{"name": "somebody", "arguments": {}}'

    assert call_tool(shared_client, "query", prompt=f"say {text}")["response"] == text
