"""Models that use tools, through the protocol and both dialects, and the rules they keep to."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import (
    Json,
    StdioClient,
    child,
    clean_environment,
    junto,
    notification,
    request,
    with_files,
)
from tests.processes import command_lines, until
from tests.server_upstream import ServedUpstream, served_upstream


@pytest.fixture
def upstream() -> Any:
    with served_upstream() as upstream:
        yield upstream


@pytest.fixture
def client(tmp_path: Path, upstream: ServedUpstream) -> Iterator[StdioClient]:
    with serving(tmp_path, upstream) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioClient]:
    """Return a server for tests that look at nothing but their own answer."""
    home = tmp_path_factory.mktemp("shared")
    with served_upstream() as upstream, serving(home, upstream) as client:
        yield client


@contextlib.contextmanager
def serving(home: Path, upstream: ServedUpstream) -> Iterator[StdioClient]:
    price = {"input": 3, "output": 15}
    a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k", "price": price}
    plain = {**b, "id": "plain", "capabilities": {"tools": False}}
    models = json.dumps([a | {"price": price}, b, plain])
    (home / "notes.txt").write_text("The answer is 42.\nIt always was.\n")
    environment = with_files(home, JUNTO_MODELS=models, JUNTO_ANSWERS_MAX_RETRIES="0")
    with child(junto("mcp"), environment, home) as client:
        yield client


def called(client: StdioClient, tool: str, **arguments: Any) -> Json:
    result: Json = client.ask(1, "tools/call", name=tool, arguments=arguments)["result"]
    facts: Json = result["structuredContent"]
    return facts


def use(*calls: tuple[str, Json], word: str = "use") -> str:
    return f"{word} " + json.dumps([{"name": n, "arguments": a} for n, a in calls])


READ = ("read_file", {"path": "notes.txt"})
COUNT = ("execute_command", {"command": "wc", "args": ["-l", "notes.txt"]})


@pytest.mark.feature("F099", "F100", "F101", "F161", "F043")
@pytest.mark.parametrize("model", ["a", "b"])
def test_a_model_reads_a_file_runs_a_command_and_answers_with_both(
    client: StdioClient, upstream: ServedUpstream, model: str
) -> None:
    facts = called(client, "query", prompt=use(READ, COUNT), modelId=model)

    assert "The answer is 42." in facts["response"]
    assert "2 notes.txt" in facts["response"]
    assert [(call["name"], call["ok"]) for call in facts["toolCalls"]] == [
        ("read_file", True), ("execute_command", True),
    ]  # fmt: skip
    assert facts["sources"] == [{"id": "1", "title": "notes.txt", "url": "file:///notes.txt"}]
    # Both rounds are counted.
    assert facts["usage"]["inputTokens"] == 20
    assert facts["usage"]["costUsd"] == pytest.approx(0.00021)
    told = json.dumps(upstream.bodies[0]["tools"])
    assert "read_file" in told
    assert '"chat"' not in told


@pytest.mark.feature("F018")
def test_one_kit_with_what_it_was_given_serves_the_client_and_the_model(
    tmp_path: Path, upstream: ServedUpstream
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
    wanted = use(("read_file", {"path": "notes.txt"}), ("read_file", outside), ("current_time", {}))
    with child(junto("mcp"), environment, tmp_path) as client:
        listed = {tool["name"] for tool in client.ask(1, "tools/list")["result"]["tools"]}
        refused = called(client, "read_file", **outside)
        time = called(client, "current_time")
        asked = called(client, "query", prompt=wanted)

    offered = {tool["name"] for tool in upstream.bodies[0]["tools"]}
    assert offered <= listed
    assert {"read_file", "current_time"} <= offered
    assert "http_get" not in listed
    assert [each["ok"] for each in asked["toolCalls"]] == [True, False, True]
    assert refused["message"] in asked["response"]
    assert time["timezone"] == "Asia/Taipei"
    assert "Asia/Taipei" in asked["response"]
    assert "private" not in json.dumps(upstream.bodies)


def test_what_a_tool_gives_is_marked_as_data(client: StdioClient, upstream: ServedUpstream) -> None:
    called(client, "query", prompt=use(READ))

    given = json.dumps(upstream.bodies[1]["messages"][-1])
    assert "<data-" in given
    assert "not instructions" in given


def test_a_session_remembers_what_tools_gave(client: StdioClient) -> None:
    first = called(client, "query", prompt=use(READ))
    history = called(client, "conversation_history", conversationId=first["sessionId"])
    second = called(client, "query", prompt="and now?", sessionId=first["sessionId"])

    assert [message["role"] for message in history["messages"]] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert second["response"].startswith("a heard 5")


def test_a_chat_uses_tools_only_when_it_is_told_to(
    client: StdioClient, upstream: ServedUpstream
) -> None:
    called(client, "chat", message=use(READ))
    with_tools = called(client, "chat", message=use(READ), tools=True)

    assert "tools" not in upstream.bodies[0]
    assert "42" in with_tools["response"]
    assert with_tools["toolCalls"][0]["name"] == "read_file"


@pytest.mark.feature("F102")
def test_a_model_that_never_stops_using_tools_is_stopped_with_what_was_done(
    client: StdioClient, upstream: ServedUpstream
) -> None:
    facts = called(client, "query", prompt=use(READ, word="use-on"))

    assert facts["code"] == "ModelError"
    assert "Tool loop exceeded max iterations" in facts["message"]
    assert len(facts["toolCalls"]) == 10
    assert len(upstream.bodies) == 10
    assert called(client, "list_conversations")["conversations"] == []


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
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
def test_a_tool_that_fails_tells_the_model_and_the_loop_goes_on(
    shared: StdioClient, name: str, arguments: Json, said: str, model: str
) -> None:
    facts = called(shared, "query", prompt=use((name, arguments)), modelId=model)

    assert said in facts["response"]
    assert facts["toolCalls"] == [{"name": name, "arguments": arguments, "ok": False}]
    assert "sources" not in facts


def test_a_model_that_takes_no_tools_is_asked_without(
    client: StdioClient, upstream: ServedUpstream
) -> None:
    facts = called(client, "query", prompt="hi", modelId="plain")

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
def test_a_call_that_a_small_model_only_prints_is_taken_for_one(
    client: StdioClient, upstream: ServedUpstream, printed: str
) -> None:
    facts = called(client, "query", prompt=f"say {printed}")

    assert facts["toolCalls"] == [
        {"name": "read_file", "arguments": {"path": "notes.txt"}, "ok": True}
    ]
    assert "42" in json.dumps(upstream.bodies[1])


def test_cancelling_a_query_ends_the_command_that_its_model_runs(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    command = [{"name": "bash", "anything": True}]
    environment = with_files(
        tmp_path, JUNTO_MODELS=json.dumps([model]), JUNTO_TOOLS_COMMANDS=json.dumps(command)
    )
    mark = f"1000.{os.getpid()}9"
    script = f"(setsid sleep {mark} &); sleep {mark}"
    prompt = use(("execute_command", {"command": "bash", "args": ["-c", script]}))
    with child(junto("mcp"), environment, tmp_path) as client:
        client.send(request(7, "tools/call", name="query", arguments={"prompt": prompt}))
        assert until(lambda: len(_running(mark)) >= 2)
        client.send(notification("notifications/cancelled", requestId=7))
        assert until(lambda: not _running(mark))
        assert until(lambda: called(client, "job")["jobs"][0]["state"] == "cancelled")


def _running(mark: str) -> list[int]:
    return [pid for pid, words in command_lines().items() if words[:2] == ["sleep", mark]]


def test_a_budget_that_ends_between_two_rounds_leaves_nothing(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    # Enough for one question with its longest answer, and not for a second.
    price = {"input": 1, "output": 1000}
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
    (tmp_path / "notes.txt").write_text("42")
    environment = with_files(
        tmp_path,
        JUNTO_MODELS=json.dumps([model | {"price": price}]),
        JUNTO_BUDGET_LIMIT="4.1",
        JUNTO_ANSWERS_MAX_TOKENS="4096",
    )
    with child(junto("mcp"), environment, tmp_path) as client:
        spent = called(client, "query", prompt=use(READ))
        listed = called(client, "list_conversations")

    assert spent["code"] == "BudgetExceeded"
    assert len(upstream.bodies) == 1
    assert listed["conversations"] == []


def test_a_word_that_looks_like_a_call_is_none(shared: StdioClient) -> None:
    text = '{"name": "somebody", "arguments": {}}'

    assert called(shared, "query", prompt=f"say {text}")["response"] == text
