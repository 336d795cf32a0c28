from typing import Any

import pytest

from junto.agent.activity import describe_tool_call, iter_activities
from junto.agent.results import build_result, build_result_error
from junto.agent.run_state import RunState, redact_and_truncate


def return_unchanged(text: str) -> str:
    return text


def run_state(max_messages: int = 100, *, include_system: bool = True) -> RunState:
    return RunState(max_messages, include_system, return_unchanged)


def session_state(state: str = "idle") -> dict[str, Any]:
    return {"type": "system", "subtype": "session_state_changed", "state": state}


def result_message(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **fields}


def replay_message(uuid: str) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "isReplay": True}


def test_a_run_is_complete_when_every_message_is_answered() -> None:
    run = run_state()
    run.expect_message("a")
    for message in (session_state("running"), replay_message("a"), result_message()):
        run.receive(message)
        assert not run.is_complete
    run.receive(session_state())

    assert run.is_complete


def test_a_message_sent_just_before_the_end_is_waited_for() -> None:
    run = run_state()
    run.expect_message("a")
    run.receive(replay_message("a"))
    run.expect_message("b")  # while the result of a is on its way
    run.receive(result_message())
    run.receive(session_state())
    assert not run.is_complete

    run.receive(replay_message("b"))
    assert not run.is_complete  # the idle state was reported before b
    for message in (session_state("running"), result_message(num_turns=2), session_state()):
        run.receive(message)

    assert run.is_complete
    assert run.turn_count == 3


def test_only_the_last_messages_are_kept_and_all_are_counted() -> None:
    run = run_state(2, include_system=False)
    for message in ({"type": "system", "subtype": "init"}, {"type": "assistant"}, result_message()):
        assert run.receive(message) is not None
    run.receive({"type": "control_request"})

    summary = build_result(run, "s", 1.5)

    assert [each["type"] for each in summary.messages] == ["assistant", "result"]
    assert (summary.message_count, summary.truncated) == (3, True)


def test_secrets_are_redacted_and_long_texts_truncated() -> None:
    redacted = redact_and_truncate(
        {"a": ["secret", 1, {"b": "x" * 30}], "c": None},
        lambda text: text.replace("secret", "•"),
        10,
    )

    assert redacted == {"a": ["•", 1, {"b": "x" * 10 + " … (30 characters)"}], "c": None}


def test_usage_is_summed_over_models() -> None:
    run = run_state()
    usage = {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokens": 5}
    run.receive(result_message(modelUsage={"a": usage, "b": usage}, total_cost_usd=0.25))

    assert build_result(run, "s", 0).usage == {
        "inputTokens": 6,
        "outputTokens": 8,
        "cacheReadTokens": 10,
        "cacheWriteTokens": 0,
        "turns": 1,
        "costUsd": 0.25,
    }


@pytest.mark.parametrize(
    ("fields", "code", "phrase"),
    [
        ({"subtype": "error_max_turns"}, "ExecutionError", "maxTurns"),
        ({"subtype": "error_max_budget_usd"}, "BudgetExceeded", "maxBudgetUsd"),
        ({"is_error": True, "api_error_status": 401}, "AuthenticationFailed", "ANTHROPIC_API_KEY"),
        ({"is_error": True, "result": "Not logged in"}, "AuthenticationFailed", "ANTHROPIC_API"),
        ({"is_error": True, "api_error_status": 429}, "RateLimited", "later"),
        ({"is_error": True, "api_error_status": 404}, "NotFound", "model"),
        ({"is_error": True, "api_error_status": 503}, "NetworkError", "later"),
        ({"is_error": True, "result": "Connection error."}, "NetworkError", "later"),
        ({"is_error": True, "result": "Prompt is too long"}, "ContextOverflow", "new session"),
        ({"is_error": True, "errors": ["one", "two"]}, "ExecutionError", "one; two"),
    ],
)
def test_each_failure_has_its_code_and_message(
    fields: dict[str, Any], code: str, phrase: str
) -> None:
    error = build_result_error(result_message(**fields), "")

    assert error
    assert error.code == code
    assert phrase in error.message


def test_an_exit_without_a_result_is_reported_with_the_last_line_of_stderr() -> None:
    error = build_result_error({}, "warming up\nsegmentation fault\n")

    assert error
    assert error.message == "Claude Code failed: segmentation fault"
    assert build_result_error(result_message(), "") is None


@pytest.mark.parametrize(
    ("tool", "arguments", "description"),
    [
        ("Edit", {"file_path": "/w/src/app.py"}, "editing src/app.py"),
        ("Read", {"file_path": "/etc/hosts"}, "reading /etc/hosts"),
        ("Write", {}, "writing a file"),
        ("Bash", {"command": "pytest -q\n  tests"}, "running pytest -q tests"),
        ("Bash", {"command": "x" * 200}, "running " + "x" * 71 + "…"),
        ("Grep", {"pattern": "TODO"}, "searching for TODO"),
        ("WebFetch", {"url": "https://example.org/a?b"}, "fetching example.org"),
        ("WebFetch", {"url": "http://["}, "fetching a page"),
        ("Task", {"description": "look around"}, "giving a helper work: look around"),
        ("mcp__junto__chat", {}, "using chat of junto"),
        ("NewTool", {}, "using NewTool"),
    ],
)
def test_a_tool_call_is_described_in_one_line(
    tool: str, arguments: dict[str, Any], description: str
) -> None:
    assert describe_tool_call(tool, arguments, "/w") == description


def test_a_message_has_several_activities_or_none() -> None:
    tool_uses = [
        {"type": "tool_use", "name": name, "input": {"file_path": f"/w/{name}"}}
        for name in ("Read", "Write")
    ]
    message = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": "…"}, *tool_uses]},
    }

    assert list(iter_activities(message, "/w")) == ["reading Read", "writing Write"]
    assert list(iter_activities({"type": "system", "subtype": "api_retry"}, "/w"))
    assert list(iter_activities({"type": "user"}, "/w")) == []
