from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.agent.options import RunOptions, RunPolicy, normalize_tool_names
from junto.app.agent import _build_policy
from junto.domain.errors import InvalidInputError, JuntoError, PermissionDeniedError
from junto.settings import load_settings
from junto.settings.enums import AgentOption, PermissionMode

ALL_OPTIONS = frozenset(AgentOption)
ALL_BUT_ALLOWED_TOOLS = ALL_OPTIONS - {AgentOption.ALLOWED_TOOLS}


def policy(**changes: Any) -> RunPolicy:
    fields: dict[str, Any] = {
        "defaults": RunOptions(),
        "overridable": ALL_BUT_ALLOWED_TOOLS,
        "model_aliases": {},
    }
    return RunPolicy(**fields | changes)


@pytest.mark.feature("F130", "F249")
def test_omitted_options_use_the_operators_defaults() -> None:
    defaults = RunOptions(model="opus", max_turns=3, max_messages=7)

    options = policy(defaults=defaults).resolve_options({AgentOption.MAX_TURNS: 5})

    assert (options.model, options.max_turns, options.max_messages) == ("opus", 5, 7)


@pytest.mark.feature("F235")
def test_every_default_has_a_variable_and_can_be_overridden_by_a_call(tmp_path: Path) -> None:
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
    overrides = {
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
    settings = load_settings(
        environment=variables, home_dir=tmp_path, working_dir=tmp_path
    ).settings
    run_policy = replace(_build_policy(settings), overridable=ALL_OPTIONS)

    defaults, overridden = run_policy.resolve_options({}), run_policy.resolve_options(overrides)

    assert defaults == RunOptions(
        cwd=str(tmp_path),
        model="opus",
        permission_mode=PermissionMode.ACCEPT_EDITS,
        max_turns=3,
        max_messages=7,
        include_system_messages=False,
        timeout_seconds=60,
        max_budget_usd=1.5,
        allowed_tools=("Read", "Grep"),
        disallowed_tools=("Bash",),
    )
    assert overridden == RunOptions(
        cwd="deep",
        model="haiku",
        permission_mode=PermissionMode.PLAN,
        max_turns=1,
        max_messages=2,
        include_system_messages=True,
        timeout_seconds=5,
        max_budget_usd=0.5,
        allowed_tools=("Read",),
        disallowed_tools=("Bash",),
    )


@pytest.mark.parametrize("name", [each for each in AgentOption if each != "allowedTools"])
def test_an_option_that_is_not_overridable_is_rejected(name: AgentOption) -> None:
    with pytest.raises(PermissionDeniedError, match=r"agent\.overrides"):
        policy(overridable=frozenset()).resolve_options({name: 1})


@pytest.mark.parametrize(
    ("configured", "requested"),
    [
        (PermissionMode.PLAN, PermissionMode.DEFAULT),
        (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS),
        (PermissionMode.ACCEPT_EDITS, PermissionMode.BYPASS),
    ],
)
def test_a_call_cannot_exceed_the_operators_permission_mode(
    configured: PermissionMode, requested: PermissionMode
) -> None:
    run_policy = policy(defaults=RunOptions(permission_mode=configured))

    with pytest.raises(PermissionDeniedError, match="goes further"):
        run_policy.resolve_options({AgentOption.PERMISSION_MODE: requested})

    options = run_policy.resolve_options({AgentOption.PERMISSION_MODE: PermissionMode.PLAN})
    assert options.permission_mode is PermissionMode.PLAN


def test_root_may_bypass_permissions_only_as_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    bypass = {AgentOption.PERMISSION_MODE: PermissionMode.BYPASS}
    monkeypatch.setattr("os.geteuid", lambda: 0)

    with pytest.raises(PermissionDeniedError, match=r"agent\.user"):
        policy(allow_bypass=True).resolve_options(bypass)

    allowed = [policy(allow_bypass=True, has_other_user=True).resolve_options(bypass)]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    allowed.append(policy(allow_bypass=True).resolve_options(bypass))
    assert {each.permission_mode for each in allowed} == {PermissionMode.BYPASS}


@pytest.mark.feature("F136", "F139")
def test_limits_can_be_lowered_but_not_raised() -> None:
    run_policy = policy(defaults=RunOptions(timeout_seconds=60, max_budget_usd=1.0))

    options = run_policy.resolve_options(
        {AgentOption.TIMEOUT_MS: 5000, AgentOption.MAX_BUDGET_USD: 0.5}
    )

    assert (options.timeout_seconds, options.max_budget_usd) == (5.0, 0.5)
    with pytest.raises(InvalidInputError, match=r"agent\.time_limit"):
        run_policy.resolve_options({AgentOption.TIMEOUT_MS: 60_001})
    with pytest.raises(InvalidInputError, match=r"agent\.max_budget"):
        run_policy.resolve_options({AgentOption.MAX_BUDGET_USD: 1.01})


def test_tool_names_ignore_case_and_a_call_can_only_narrow_the_allowed_ones() -> None:
    run_policy = policy(defaults=RunOptions(allowed_tools=("bash", "read")))

    options = run_policy.resolve_options(
        {AgentOption.ALLOWED_TOOLS: ("BASH",), AgentOption.DISALLOWED_TOOLS: ("webfetch",)}
    )

    assert options.allowed_tools == ("Bash",)
    assert options.disallowed_tools == ("WebFetch",)
    with pytest.raises(PermissionDeniedError, match=r"agent\.allowed_tools"):
        run_policy.resolve_options({AgentOption.ALLOWED_TOOLS: ("Write",)})
    widened = policy(overridable=ALL_OPTIONS).resolve_options(
        {AgentOption.ALLOWED_TOOLS: ("write",)}
    )
    assert widened.allowed_tools == ("Write",)


def test_a_call_cannot_re_enable_the_operators_disallowed_tools() -> None:
    run_policy = policy(defaults=RunOptions(disallowed_tools=("Bash",)))

    options = run_policy.resolve_options({AgentOption.DISALLOWED_TOOLS: ("Edit",)})

    assert options.disallowed_tools == ("Bash", "Edit")


def test_tool_names_are_normalized_and_deduplicated() -> None:
    assert normalize_tool_names(
        ["read", "READ", " Bash(git *) ", "mcp__junto__chat", "NewTool"]
    ) == (
        "Read",
        "Bash(git *)",
        "mcp__junto__chat",
        "NewTool",
    )


@given(st.text())
def test_no_tool_name_is_parsed_as_two_names_or_as_a_flag(name: str) -> None:
    try:
        [normalized] = normalize_tool_names([name])
    except JuntoError:
        return

    assert "," not in normalized
    assert not normalized.startswith("-")
    assert normalized.count("(") <= 1
    assert not any(ord(character) < 32 for character in normalized)


@given(st.text())
def test_no_model_name_is_parsed_as_a_flag(name: str) -> None:
    try:
        options = policy().resolve_options({AgentOption.MODEL: name})
    except InvalidInputError:
        return

    assert options.model
    assert not options.model.startswith("-")
    assert not set(options.model) & set(" \n\t,=")
