from typing import Any

import pytest

from junto.agent.bundles import bundle, failure
from junto.agent.course import Course, shortened
from junto.agent.summaries import doing, doings


def as_it_is(text: str) -> str:
    return text


def course(keep: int = 100, *, system: bool = True) -> Course:
    return Course(keep, system, as_it_is)


def idle(state: str = "idle") -> dict[str, Any]:
    return {"type": "system", "subtype": "session_state_changed", "state": state}


def result(**more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **more}


def replay(uuid: str) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "isReplay": True}


def test_it_is_over_when_all_that_was_said_is_answered() -> None:
    run = course()
    run.expects("a")
    for message in (idle("running"), replay("a"), result()):
        run.hears(message)
        assert not run.over
    run.hears(idle())

    assert run.over


def test_what_is_sent_at_the_last_moment_is_waited_for() -> None:
    run = course()
    run.expects("a")
    run.hears(replay("a"))
    run.expects("b")  # while what follows is on its way to us
    run.hears(result())
    run.hears(idle())
    assert not run.over

    run.hears(replay("b"))
    assert not run.over  # what it said of itself was before that
    for message in (idle("running"), result(num_turns=2), idle()):
        run.hears(message)

    assert run.over
    assert run.turns == 3


def test_only_the_last_messages_are_kept_and_all_are_counted() -> None:
    run = course(2, system=False)
    for message in ({"type": "system", "subtype": "init"}, {"type": "assistant"}, result()):
        assert run.hears(message) is not None
    run.hears({"type": "control_request"})

    ended = bundle(run, "s", 1.5)

    assert [each["type"] for each in ended.messages] == ["assistant", "result"]
    assert (ended.message_count, ended.truncated) == (3, True)


def test_nothing_is_told_that_is_secret_or_has_no_end() -> None:
    told = shortened(
        {"a": ["secret", 1, {"b": "x" * 30}], "c": None},
        lambda text: text.replace("secret", "•"),
        10,
    )

    assert told == {"a": ["•", 1, {"b": "x" * 10 + " … (30 characters)"}], "c": None}


def test_what_was_used_is_summed_over_models() -> None:
    run = course()
    used = {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokens": 5}
    run.hears(result(modelUsage={"a": used, "b": used}, total_cost_usd=0.25))

    assert bundle(run, "s", 0).usage == {
        "inputTokens": 6,
        "outputTokens": 8,
        "cacheReadTokens": 10,
        "cacheWriteTokens": 0,
        "turns": 1,
        "costUsd": 0.25,
    }


@pytest.mark.parametrize(
    ("ended", "code", "says"),
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
def test_each_way_of_failing_has_its_sentence(ended: dict[str, Any], code: str, says: str) -> None:
    error = failure(result(**ended), "")

    assert error
    assert error.code == code
    assert says in error.message


def test_a_program_that_just_ends_is_told_by_its_complaint() -> None:
    error = failure({}, "warming up\nsegmentation fault\n")

    assert error
    assert error.message == "Claude Code failed: segmentation fault"
    assert failure(result(), "") is None


@pytest.mark.parametrize(
    ("tool", "given", "words"),
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
def test_what_it_does_is_said_in_a_line(tool: str, given: dict[str, Any], words: str) -> None:
    assert doing(tool, given, "/w") == words


def test_a_message_may_say_several_things_or_none() -> None:
    uses = [
        {"type": "tool_use", "name": name, "input": {"file_path": f"/w/{name}"}}
        for name in ("Read", "Write")
    ]
    both = {"type": "assistant", "message": {"content": [{"type": "text", "text": "…"}, *uses]}}

    assert list(doings(both, "/w")) == ["reading Read", "writing Write"]
    assert list(doings({"type": "system", "subtype": "api_retry"}, "/w"))
    assert list(doings({"type": "user"}, "/w")) == []
