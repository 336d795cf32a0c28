"""What keeps Claude Code from starting, and what is said about it."""

import errno
import json
from pathlib import Path

import pytest

from junto.agent.options import Options
from junto.agent.program import Access, Call, environment, login_of
from junto.agent.service import no_start
from junto.agent.sight import visible
from junto.app import running
from junto.domain.errors import AuthenticationError, ExecutionError, NoRoomError
from junto.settings import load
from tests.clients import child, clean_environment, junto

OTHER = "t"


@pytest.mark.feature("F129")
@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENOSPC])
def test_a_machine_without_room_says_so_and_can_be_tried_again(number: int) -> None:
    error = no_start(OSError(number, "no room"))

    assert isinstance(error, NoRoomError)
    assert error.retryable
    assert isinstance(no_start(OSError(errno.ENOEXEC, "bad format")), ExecutionError)


def test_without_any_way_to_a_model_nothing_is_started() -> None:
    with pytest.raises(AuthenticationError, match="ANTHROPIC_API_KEY"):
        Access().variables()


@pytest.mark.parametrize(
    ("access", "variable"),
    [
        (Access(key="k", token=OTHER), "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"),
        (Access(token=OTHER), "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"),
        (Access(environment={"CLAUDE_CODE_USE_BEDROCK": "1"}), "CLAUDE_CODE_USE_BEDROCK"),
    ],
)
def test_each_way_to_a_model_is_told_and_no_secret_is(access: Access, variable: str) -> None:
    variables = access.variables()

    assert list(variables) == [variable]
    assert not {"k", OTHER} & set(variables.values())


def test_a_login_is_used_while_it_lasts(tmp_path: Path) -> None:
    where = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert login_of(where, 0) is None

    login = {"claudeAiOauth": {"accessToken": "short", "refreshToken": "r", "expiresAt": 60_000}}
    (tmp_path / ".credentials.json").write_text(json.dumps(login))

    assert login_of(where, 59) == "short"
    assert login_of(where, 61) is None
    (tmp_path / ".credentials.json").write_text("[]")
    assert login_of(where, 59) is None


def test_what_is_hidden_cannot_be_looked_at_and_all_around_it_can(tmp_path: Path) -> None:
    home, state = tmp_path / "home", tmp_path / "home" / "data" / "junto"
    for folder in (state, home / ".ssh", home / "code", home / "data" / "other"):
        folder.mkdir(parents=True)
    (tmp_path / "way-in").symlink_to(state)
    (tmp_path / "way-around").symlink_to(home)
    (tmp_path / "fine").symlink_to(home / "code")

    seen = visible([home], [state])

    inside = {name for name in seen if name.startswith(str(tmp_path))}
    assert inside == {
        str(home / "code"),
        str(home / "data" / "other"),
        str(tmp_path / "fine"),
    }
    assert not {"/proc", "/dev", "/"} & set(seen)
    assert "/usr" in seen


def test_of_our_variables_few_are_passed_on(tmp_path: Path) -> None:
    ours = {"PATH": "/bin", "LANG": "C", "OPENAI_API_KEY": "x", "HOME": "/ours", "LD_PRELOAD": "y"}

    theirs = environment(ours, Access(key="k"), tmp_path, None)

    assert theirs["PATH"] == "/bin"
    assert theirs["HOME"] == str(tmp_path / "home")
    assert not {"OPENAI_API_KEY", "LD_PRELOAD", "ANTHROPIC_API_KEY"} & set(theirs)


def test_a_branch_has_its_own_id_and_its_parents() -> None:
    alone = Call(options=Options(), roots=(), session="a").arguments()
    resumed = Call(options=Options(), roots=(), session="a", resumed="a").arguments()
    branch = Call(options=Options(), roots=("/r",), session="b", resumed="a").arguments()

    assert "--session-id=a" in alone
    assert "--resume=a" in resumed
    assert not any(word.startswith("--session-id") for word in resumed)
    assert {"--resume=a", "--fork-session", "--session-id=b", "--add-dir", "/r"} <= set(branch)
    assert {"--setting-sources=", "--strict-mcp-config"} <= set(alone)


def test_where_it_is_not_installed_the_tool_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(environment={}, home=Path.cwd(), directory=Path.cwd())
    with running(loaded, default_level="error") as there:
        pass
    monkeypatch.setattr("junto.agent.program.find_spec", lambda _name: None)
    with running(loaded, default_level="error") as absent:
        pass

    assert set(there.surface.tools.names) - set(absent.surface.tools.names) == {"claude_code_query"}


def test_doctor_says_how_claude_code_stands(tmp_path: Path) -> None:
    def line(**more: str) -> dict[str, str]:
        environment = clean_environment(tmp_path, **more)
        with child(junto("doctor", "--json"), environment, tmp_path) as doctor:
            findings = json.loads(doctor.finish()[1])["findings"]
        return next(each for each in findings if each["check"] == "Claude Code")

    assert line(ANTHROPIC_API_KEY="k")["state"] == "ok"
    assert "ANTHROPIC_API_KEY" in line()["fix"]
    assert "junto[claude-code]" in line(JUNTO_AGENT_PROGRAM="/no/such/program")["fix"]
    assert "switched off" in line(JUNTO_AGENT_ENABLED="false")["detail"]


def test_a_wrong_setting_is_named_at_the_start(tmp_path: Path) -> None:
    for variable, value in {
        "JUNTO_AGENT_ALLOWED_TOOLS": "--dangerous",
        "JUNTO_AGENT_USER": "nobody-of-that-name",
    }.items():
        environment = clean_environment(tmp_path, **{variable: value})
        with child(junto("mcp"), environment, tmp_path) as client:
            code, _ = client.finish()
            assert client.process.stderr
            said = client.process.stderr.read().decode()
        assert code == 2
        assert variable.removeprefix("JUNTO_").lower().replace("agent_", "agent.") in said
