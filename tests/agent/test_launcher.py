"""What Claude Code is started with, and what prevents its start."""

import errno
import json
import sys
from pathlib import Path

import pytest

from junto.agent.claude_cli import (
    ClaudeCommand,
    ClaudeCredentials,
    build_environment,
    load_oauth_token,
)
from junto.agent.filesystem import list_visible_paths
from junto.agent.options import RunOptions
from junto.agent.service import build_start_error
from junto.app.application import build_app
from junto.app.server import build_server_spec
from junto.domain.errors import AuthenticationError, CapacityExceededError, ExecutionError
from junto.settings import load_settings
from tests.clients import clean_environment, junto_command, stdio_server

OAUTH_LOGIN = "t"


@pytest.mark.feature("F129")
@pytest.mark.parametrize("error_number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENOSPC])
def test_a_machine_out_of_resources_is_a_retryable_capacity_error(error_number: int) -> None:
    error = build_start_error(OSError(error_number, "no room"))

    assert isinstance(error, CapacityExceededError)
    assert error.retryable
    assert isinstance(build_start_error(OSError(errno.ENOEXEC, "bad format")), ExecutionError)


def test_nothing_starts_without_credentials() -> None:
    with pytest.raises(AuthenticationError, match="ANTHROPIC_API_KEY"):
        ClaudeCredentials().to_environment()


@pytest.mark.parametrize(
    ("credentials", "variable"),
    [
        (
            ClaudeCredentials(api_key="k", oauth_token=OAUTH_LOGIN),
            "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
        ),
        (ClaudeCredentials(oauth_token=OAUTH_LOGIN), "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"),
        (
            ClaudeCredentials(extra_environment={"CLAUDE_CODE_USE_BEDROCK": "1"}),
            "CLAUDE_CODE_USE_BEDROCK",
        ),
    ],
)
def test_credentials_are_passed_without_secrets_in_the_environment(
    credentials: ClaudeCredentials, variable: str
) -> None:
    variables = credentials.to_environment()

    assert list(variables) == [variable]
    assert not {"k", OAUTH_LOGIN} & set(variables.values())


def test_a_login_is_used_until_it_expires(tmp_path: Path) -> None:
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert load_oauth_token(environment, 0) is None

    login = {"claudeAiOauth": {"accessToken": "short", "refreshToken": "r", "expiresAt": 60_000}}
    (tmp_path / ".credentials.json").write_text(json.dumps(login))

    assert load_oauth_token(environment, 59) == "short"
    assert load_oauth_token(environment, 61) is None
    (tmp_path / ".credentials.json").write_text("[]")
    assert load_oauth_token(environment, 59) is None


def test_hidden_paths_are_excluded_and_everything_around_them_is_visible(tmp_path: Path) -> None:
    home, state = tmp_path / "home", tmp_path / "home" / "data" / "junto"
    for folder in (state, home / ".ssh", home / "code", home / "data" / "other"):
        folder.mkdir(parents=True)
    (tmp_path / "way-in").symlink_to(state)
    (tmp_path / "way-around").symlink_to(home)
    (tmp_path / "fine").symlink_to(home / "code")

    visible = list_visible_paths([home], [state])

    inside = {name for name in visible if name.startswith(str(tmp_path))}
    assert inside == {
        str(home / "code"),
        str(home / "data" / "other"),
        str(tmp_path / "fine"),
    }
    assert not {"/proc", "/dev", "/"} & set(visible)
    assert "/usr" in visible


def test_only_a_few_environment_variables_are_passed_on(tmp_path: Path) -> None:
    server_environment = {
        "PATH": "/bin",
        "LANG": "C",
        "OPENAI_API_KEY": "x",
        "HOME": "/ours",
        "LD_PRELOAD": "y",
    }

    environment = build_environment(
        server_environment, ClaudeCredentials(api_key="k"), tmp_path, None
    )

    assert environment["PATH"] == "/bin"
    assert environment["HOME"] == str(tmp_path / "home")
    assert not {"OPENAI_API_KEY", "LD_PRELOAD", "ANTHROPIC_API_KEY"} & set(environment)


def test_a_fork_has_its_own_id_and_resumes_its_parent() -> None:
    new = ClaudeCommand(options=RunOptions(), roots=(), session_id="a").build_arguments()
    resumed = ClaudeCommand(
        options=RunOptions(), roots=(), session_id="a", resume_session_id="a"
    ).build_arguments()
    fork = ClaudeCommand(
        options=RunOptions(), roots=("/r",), session_id="b", resume_session_id="a"
    ).build_arguments()

    assert "--session-id=a" in new
    assert "--resume=a" in resumed
    assert not any(word.startswith("--session-id") for word in resumed)
    assert {"--resume=a", "--fork-session", "--session-id=b", "--add-dir", "/r"} <= set(fork)
    assert {"--setting-sources=", "--strict-mcp-config"} <= set(new)


def test_the_tool_is_absent_where_claude_code_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = load_settings(environment={}, home_dir=Path.cwd(), working_dir=Path.cwd())

    def tool_names() -> set[str]:
        with build_app(loaded, default_level="error") as app:
            return set(build_server_spec(app).tools.names)

    with_claude_code = tool_names()
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)

    assert with_claude_code - tool_names() == {"claude_code_query"}


def test_doctor_reports_the_state_of_claude_code(tmp_path: Path) -> None:
    def finding(**variables: str) -> dict[str, str]:
        environment = clean_environment(tmp_path, **variables)
        with stdio_server(junto_command("doctor", "--json"), environment, tmp_path) as doctor:
            findings = json.loads(doctor.finish()[1])["findings"]
        return next(each for each in findings if each["check"] == "Claude Code")

    assert finding(ANTHROPIC_API_KEY="k")["state"] == "ok"
    assert "ANTHROPIC_API_KEY" in finding()["fix"]
    assert "junto[claude-code]" in finding(JUNTO_AGENT_PROGRAM="/no/such/program")["fix"]
    assert "switched off" in finding(JUNTO_AGENT_ENABLED="false")["detail"]


def test_an_invalid_setting_is_named_at_startup(tmp_path: Path) -> None:
    for variable, value in {
        "JUNTO_AGENT_ALLOWED_TOOLS": "--dangerous",
        "JUNTO_AGENT_USER": "nobody-of-that-name",
    }.items():
        environment = clean_environment(tmp_path, **{variable: value})
        with stdio_server(junto_command("mcp"), environment, tmp_path) as client:
            code, _ = client.finish()
            assert client.process.stderr
            stderr = client.process.stderr.read().decode()
        assert code == 2
        assert variable.removeprefix("JUNTO_").lower().replace("agent_", "agent.") in stderr
