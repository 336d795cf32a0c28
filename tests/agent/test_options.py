from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.agent.options import Options, Policy, tool_names
from junto.app.agent import _policy
from junto.domain.errors import InvalidInputError, JuntoError, PermissionDeniedError
from junto.settings import load
from junto.settings.choices import AgentOption, PermissionMode

ALL = frozenset(AgentOption)
CLOSED = ALL - {AgentOption.ALLOWED_TOOLS}


def policy(**changes: Any) -> Policy:
    given: dict[str, Any] = {"defaults": Options(), "open": CLOSED, "models": {}}
    return Policy(**given | changes)


@pytest.mark.feature("F130", "F249")
def test_what_a_call_leaves_out_is_as_the_operator_says() -> None:
    defaults = Options(model="opus", max_turns=3, max_messages=7)

    options = policy(defaults=defaults).options({AgentOption.MAX_TURNS: 5})

    assert (options.model, options.max_turns, options.max_messages) == ("opus", 5, 7)


@pytest.mark.feature("F235")
def test_every_default_has_a_variable_and_a_call_beats_it(tmp_path: Path) -> None:
    variables = {
        "JUNTO_AGENT_CWD": str(tmp_path),
        "JUNTO_AGENT_MODEL": "opus",
        "JUNTO_AGENT_PERMISSION_MODE": "acceptEdits",
        "JUNTO_AGENT_MAX_TURNS": "3",
        "JUNTO_AGENT_MAX_MESSAGES": "7",
        "JUNTO_AGENT_INCLUDE_SYSTEM_MESSAGES": "false",
        "JUNTO_AGENT_TIME_LIMIT": "60s",
        "JUNTO_AGENT_MAX_BUDGET": "1.5",
        "JUNTO_AGENT_ALLOWED_TOOLS": "Read,Grep",
        "JUNTO_AGENT_DISALLOWED_TOOLS": "Bash",
    }
    wishes = {
        AgentOption.CWD: "deep",
        AgentOption.MODEL: "haiku",
        AgentOption.PERMISSION_MODE: PermissionMode.PLAN,
        AgentOption.MAX_TURNS: 1,
        AgentOption.MAX_MESSAGES: 2,
        AgentOption.INCLUDE_SYSTEM_MESSAGES: True,
        AgentOption.TIMEOUT_MS: 5000,
        AgentOption.MAX_BUDGET_USD: 0.5,
        AgentOption.ALLOWED_TOOLS: ("Read",),
    }
    settings = load(environment=variables, home=tmp_path, directory=tmp_path).settings
    operator = replace(_policy(settings), open=ALL)

    defaults, called = operator.options({}), operator.options(wishes)

    assert defaults == Options(
        cwd=str(tmp_path),
        model="opus",
        permission_mode=PermissionMode.ACCEPT_EDITS,
        max_turns=3,
        max_messages=7,
        include_system_messages=False,
        seconds=60,
        max_budget_usd=1.5,
        allowed_tools=("Read", "Grep"),
        disallowed_tools=("Bash",),
    )
    assert called == Options(
        cwd="deep",
        model="haiku",
        permission_mode=PermissionMode.PLAN,
        max_turns=1,
        max_messages=2,
        include_system_messages=True,
        seconds=5,
        max_budget_usd=0.5,
        allowed_tools=("Read",),
        disallowed_tools=("Bash",),
    )


@pytest.mark.parametrize("name", [each for each in AgentOption if each != "allowedTools"])
def test_what_is_not_open_cannot_be_set(name: AgentOption) -> None:
    with pytest.raises(PermissionDeniedError, match=r"agent\.overrides"):
        policy(open=frozenset()).options({name: 1})


@pytest.mark.parametrize(
    ("configured", "wanted"),
    [
        (PermissionMode.PLAN, PermissionMode.DEFAULT),
        (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS),
        (PermissionMode.ACCEPT_EDITS, PermissionMode.BYPASS),
    ],
)
def test_no_call_goes_further_than_the_operator(
    configured: PermissionMode, wanted: PermissionMode
) -> None:
    narrow = policy(defaults=Options(permission_mode=configured))

    with pytest.raises(PermissionDeniedError, match="goes further"):
        narrow.options({AgentOption.PERMISSION_MODE: wanted})

    plan = narrow.options({AgentOption.PERMISSION_MODE: PermissionMode.PLAN})
    assert plan.permission_mode is PermissionMode.PLAN


def test_root_bypasses_only_as_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    wish = {AgentOption.PERMISSION_MODE: PermissionMode.BYPASS}
    monkeypatch.setattr("os.geteuid", lambda: 0)

    with pytest.raises(PermissionDeniedError, match=r"agent\.user"):
        policy(bypass=True).options(wish)

    allowed = [policy(bypass=True, other_user=True).options(wish)]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    allowed.append(policy(bypass=True).options(wish))
    assert {each.permission_mode for each in allowed} == {PermissionMode.BYPASS}


@pytest.mark.feature("F136", "F139")
def test_limits_can_be_lowered_and_not_raised() -> None:
    held = policy(defaults=Options(seconds=60, max_budget_usd=1.0))

    lower = held.options({AgentOption.TIMEOUT_MS: 5000, AgentOption.MAX_BUDGET_USD: 0.5})

    assert (lower.seconds, lower.max_budget_usd) == (5.0, 0.5)
    with pytest.raises(InvalidInputError, match=r"agent\.time_limit"):
        held.options({AgentOption.TIMEOUT_MS: 60_001})
    with pytest.raises(InvalidInputError, match=r"agent\.max_budget"):
        held.options({AgentOption.MAX_BUDGET_USD: 1.01})


def test_tools_may_be_named_in_any_case_and_only_less_allowed() -> None:
    held = policy(defaults=Options(allowed_tools=("bash", "read")))

    options = held.options(
        {AgentOption.ALLOWED_TOOLS: ("BASH",), AgentOption.DISALLOWED_TOOLS: ("webfetch",)}
    )

    assert options.allowed_tools == ("Bash",)
    assert options.disallowed_tools == ("WebFetch",)
    with pytest.raises(PermissionDeniedError, match=r"agent\.allowed_tools"):
        held.options({AgentOption.ALLOWED_TOOLS: ("Write",)})
    more = policy(open=ALL).options({AgentOption.ALLOWED_TOOLS: ("write",)})
    assert more.allowed_tools == ("Write",)


def test_the_operators_bans_stay() -> None:
    held = policy(defaults=Options(disallowed_tools=("Bash",)))

    options = held.options({AgentOption.DISALLOWED_TOOLS: ("Edit",)})

    assert options.disallowed_tools == ("Bash", "Edit")


def test_names_of_tools() -> None:
    assert tool_names(["read", "READ", " Bash(git *) ", "mcp__junto__chat", "NewTool"]) == (
        "Read",
        "Bash(git *)",
        "mcp__junto__chat",
        "NewTool",
    )


@given(st.text())
def test_no_name_of_a_tool_is_taken_for_two_or_for_a_flag(name: str) -> None:
    try:
        [spelt] = tool_names([name])
    except JuntoError:
        return

    assert "," not in spelt
    assert not spelt.startswith("-")
    assert spelt.count("(") <= 1
    assert not any(ord(character) < 32 for character in spelt)


@given(st.text())
def test_no_name_of_a_model_is_taken_for_a_flag(name: str) -> None:
    try:
        options = policy().options({AgentOption.MODEL: name})
    except InvalidInputError:
        return

    assert options.model
    assert not options.model.startswith("-")
    assert not set(options.model) & set(" \n\t,=")
