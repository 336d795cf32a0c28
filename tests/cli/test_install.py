"""`junto install` and `uninstall`: every client, every state that its file may be in."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from junto.cli.clients.known import CLIENTS, Client, Scope
from junto.cli.clients.machine import Machine
from junto.cli.install import Launch, Wishes, address, command, install, show, uninstall
from junto.domain.errors import (
    ConfigurationError,
    InputOutputError,
    NotFoundError,
)
from junto.settings.tree import Http
from tests.clients import SECONDS, clean_environment, junto

STDIO = Launch(("/opt/junto/bin/junto", "mcp"))
HTTP = Launch((), "http://127.0.0.1:32701/mcp")
NAMES = [client.name for client in CLIENTS]
JSON = [client.name for client in CLIENTS if client.form.title == "JSON"]
every_client = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return Machine("linux", tmp_path / "home", {}, tmp_path / "project")


def found(name: str) -> Client:
    return next(client for client in CLIENTS if client.name == name)


def wishes(*names: str, scope: Scope = "user", name: str = "junto") -> Wishes:
    return Wishes(clients=names, every=not names, scope=scope, name=name)


def both(machine: Machine, name: str) -> tuple[Callable[[], None], ...]:
    """Return both works, for what neither of them may do."""
    return (
        lambda: install(machine, wishes(name), STDIO),
        lambda: uninstall(machine, wishes(name)),
    )


def file_of(machine: Machine, name: str) -> Path:
    file = found(name).user(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def servers(machine: Machine, name: str) -> dict[str, Any]:
    client = found(name)
    read = client.form.read(client.user(machine).read_text("utf-8-sig"))
    return dict(read[client.section])


# What a file may say before us, in the words of its form. `{section}` is the client's own.
JSON_TEXTS = {
    "an empty section": '{\n  "{section}": {}\n}\n',
    "other servers": '{\n  "a": [1, 2],\n  "{section}": {\n    "x": {"command": "y"}\n  }\n}\n',
    "comments": '// mine\n{\n  "{section}": { // all\n    "x": {} /* the last */ // one\n  }\n}\n',
    "commas at the end": '{\n  "{section}": {\n    "x": {},\n  },\n}',
    "tabs": '{\n\t"{section}": {\n\t\t"x": {}\n\t}\n}',
    "one line": '{"{section}":{"x":{"command":"y"}},"b":null}',
    "Windows lines": '{\r\n    "{section}": {\r\n        "x": {}\r\n    }\r\n}\r\n',
    "a mark": '\ufeff{\n  "{section}": {"x": {}}\n}\n',
}
TOML_TEXTS = {
    "an empty section": "[{section}]\n",
    "other servers": "model = 'm'\n\n[{section}.x]\ncommand = 'y'\n\n[tui]\nz = 1\n",
    "comments": "# mine\n[{section}.x] # the first\ncommand = 'y' # one\n\n# the end\n",
    "no end of line": "[{section}.x]\ncommand = 'y'",
    "Windows lines": "[{section}.x]\r\ncommand = 'y'\r\n",
    "a mark": "\ufeff[{section}.x]\ncommand = 'y'\n",
    "nothing": "",
    "blank lines": "\n\n",
}
TEXTS = [
    pytest.param(name, text, launch, id=f"{name}, {state}, {way}")
    for name in NAMES
    for way, launch in (("stdio", STDIO), ("http", HTTP))
    for state, text in (JSON_TEXTS if name in JSON else TOML_TEXTS).items()
    if way == "stdio" or found(name).http
]


@pytest.mark.parametrize(("name", "text", "launch"), TEXTS)
def test_an_entry_comes_and_goes_without_a_trace(
    machine: Machine, name: str, text: str, launch: Launch
) -> None:
    client = found(name)
    file, before = file_of(machine, name), text.replace("{section}", client.section).encode()
    file.write_bytes(before)

    install(machine, wishes(name), launch)

    there = servers(machine, name)
    assert there.pop("junto") == launch.entry(client).whole()
    assert there == client.form.read(before.decode("utf-8-sig")).get(client.section, {})

    install(machine, wishes(name), launch)
    assert len(list(file.parent.glob("*.junto-backup-*"))) == 1, "it was written again"

    uninstall(machine, wishes(name))
    assert file.read_bytes() == before


@every_client
def test_a_missing_file_is_made(
    machine: Machine, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(machine, wishes(name), STDIO)

    assert servers(machine, name) == {"junto": STDIO.entry(found(name)).whole()}
    told = capsys.readouterr()
    assert told.out == ""
    assert f"{found(name).title}: wrote `junto` to {found(name).user(machine)}." in told.err
    assert "It starts `/opt/junto/bin/junto mcp`." in told.err
    assert found(name).then in told.err


@every_client
@pytest.mark.parametrize("text", ["", "\n", " \r\n\t"])
def test_an_empty_file_is_like_a_missing_one(machine: Machine, name: str, text: str) -> None:
    file_of(machine, name).write_text(text)

    install(machine, wishes(name), STDIO)

    assert servers(machine, name) == {"junto": STDIO.entry(found(name)).whole()}


@every_client
def test_what_is_there_is_not_written_again(
    machine: Machine, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(machine, wishes(name), STDIO)
    before = file_of(machine, name).stat().st_mtime_ns
    capsys.readouterr()

    install(machine, wishes(name), STDIO)

    assert file_of(machine, name).stat().st_mtime_ns == before
    assert "already there" in capsys.readouterr().err


@every_client
def test_an_earlier_entry_is_brought_up_to_date_and_keeps_what_was_added(
    machine: Machine, name: str
) -> None:
    client, file = found(name), file_of(machine, name)
    install(machine, wishes(name), Launch(("/old/venv/bin/junto", "mcp")))
    path = (client.section, "junto")
    text = client.form.put(file.read_text(), (*path, "args"), ["mcp", "--log-level", "debug"])
    file.write_text(client.form.put(text, (*path, "cwd"), "/work"))

    install(machine, wishes(name), STDIO)

    assert servers(machine, name)["junto"] == {
        **STDIO.entry(client).whole(),
        "args": ["mcp", "--log-level", "debug"],
        "cwd": "/work",
    }


@pytest.mark.parametrize("name", [name for name in NAMES if found(name).http])
def test_an_entry_changes_from_a_command_to_an_address_and_back(
    machine: Machine, name: str
) -> None:
    install(machine, wishes(name), STDIO)
    before = file_of(machine, name).read_bytes()

    install(machine, wishes(name), HTTP)
    assert servers(machine, name) == {"junto": HTTP.entry(found(name)).whole()}

    install(machine, wishes(name), STDIO)
    assert file_of(machine, name).read_bytes() == before


@every_client
def test_an_entry_under_an_earlier_name_is_renamed(machine: Machine, name: str) -> None:
    install(machine, wishes(name, name="council"), STDIO)

    install(machine, wishes(name), STDIO)

    assert list(servers(machine, name)) == ["junto"]


@every_client
def test_an_entry_that_somebody_has_changed_keeps_its_name(machine: Machine, name: str) -> None:
    install(machine, wishes(name, name="council"), Launch((*STDIO.words, "--config", "/c.yaml")))

    install(machine, wishes(name), STDIO)

    assert set(servers(machine, name)) == {"council", "junto"}


FOREIGN: list[dict[str, Any]] = [
    {"command": "npx", "args": ["-y", "@somebody/junto"]},
    {"command": "files", "args": ["/home/me/junto"]},
    {"url": "https://junto.example.org/mcp"},
    {"url": "http://[broken/mcp"},
    {"command": 3, "args": "mcp"},
    {},
]


@every_client
@pytest.mark.parametrize("entry", FOREIGN, ids=str)
def test_another_server_of_that_name_is_left_alone(
    machine: Machine, name: str, entry: dict[str, Any]
) -> None:
    client, file = found(name), file_of(machine, name)
    file.write_text(client.form.put("", (client.section, "junto"), entry))
    before = file.read_bytes()

    for work in both(machine, name):
        with pytest.raises(InputOutputError, match=r"another server.*--name"):
            work()

    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "junto", "args": ["mcp"]},
        {"command": "C:\\Tools\\Junto\\junto.exe", "args": ["mcp"]},
        {"command": "/usr/bin/python3", "args": ["-m", "junto", "mcp"]},
        {"command": "uvx", "args": ["junto", "mcp"]},
        {"command": "cmd", "args": ["/c", "junto", "mcp"]},
    ],
    ids=str,
)
def test_a_junto_that_somebody_wrote_down_by_hand_is_ours(
    machine: Machine, entry: dict[str, Any]
) -> None:
    file_of(machine, "cursor").write_text(json.dumps({"mcpServers": {"junto": entry}}))

    install(machine, wishes("cursor"), STDIO)

    assert servers(machine, "cursor")["junto"]["command"] == "/opt/junto/bin/junto"
    assert servers(machine, "cursor")["junto"]["args"] == ["mcp"]


BROKEN = [
    *((name, '{\n  "x": 1\n  "y": 2\n}\n', "line 3, column 3") for name in JSON),
    ("codex", "x = 1\ny = = 2\n", "line 2, column 5"),
]
WRONG = [
    *((name, text) for name in JSON for text in ('{"{section}": []}', '{"{section}": "x"}', "[]")),
    *(("codex", text) for text in ("{section} = []\n", "{section} = 'x'\n")),
]


@pytest.mark.parametrize(("name", "text", "where"), BROKEN)
def test_a_broken_file_is_reported_and_left_alone(
    machine: Machine, name: str, text: str, where: str
) -> None:
    file = file_of(machine, name)
    file.write_text(text)

    for work in both(machine, name):
        with pytest.raises(InputOutputError, match=where) as caught:
            work()
        assert str(file) in caught.value.message
        assert caught.value.message.endswith("Mend it and try again.")

    assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(("name", "text"), WRONG)
def test_a_section_of_another_kind_is_reported_and_left_alone(
    machine: Machine, name: str, text: str
) -> None:
    file, text = file_of(machine, name), text.replace("{section}", found(name).section)
    file.write_text(text)

    for work in both(machine, name):
        with pytest.raises(InputOutputError, match=r"left alone.*by hand\."):
            work()

    assert file.read_text() == text


@every_client
def test_a_read_only_file_is_reported_and_left_alone(machine: Machine, name: str) -> None:
    file = file_of(machine, name)
    file.write_text("")
    file.chmod(0o444)

    with pytest.raises(InputOutputError, match=r"read-only.*--print.*by hand\."):
        install(machine, wishes(name), STDIO)

    assert file.read_text() == ""


@every_client
def test_a_link_stays_a_link(machine: Machine, name: str, tmp_path: Path) -> None:
    file, target = file_of(machine, name), tmp_path / "dotfile"
    target.write_text("")
    file.symlink_to(target)

    install(machine, wishes(name), STDIO)

    assert file.is_symlink()
    assert "junto" in target.read_text()


@every_client
def test_nothing_to_take_out_is_no_failure(
    machine: Machine, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    uninstall(machine, wishes(name))

    assert "there is no `junto` in" in capsys.readouterr().err
    assert list(machine.home.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in NAMES if found(name).project])
def test_a_project_has_a_file_of_its_own(machine: Machine, name: str) -> None:
    install(machine, wishes(name, scope="project"), STDIO)

    file = machine.folder / str(found(name).project)
    assert "/opt/junto/bin/junto" in file.read_text()
    assert list(machine.home.iterdir()) == []


@every_client
def test_no_value_of_a_variable_is_ever_written(machine: Machine, name: str) -> None:
    secret = "sk-ant-0123456789"  # noqa: S105 - to be looked for
    keyed = replace(machine, environment={"ANTHROPIC_API_KEY": secret, "GEMINI_API_KEY": secret})

    install(keyed, wishes(name), STDIO)

    assert secret not in file_of(machine, name).read_text()


def test_clients_that_hold_keys_back_are_told_the_names(machine: Machine) -> None:
    install(machine, wishes("gemini", "codex"), STDIO)

    assert servers(machine, "gemini")["junto"]["env"]["OPENAI_API_KEY"] == "$OPENAI_API_KEY"
    assert "OPENAI_API_KEY" in servers(machine, "codex")["junto"]["env_vars"]


def test_codex_waits_for_us(machine: Machine) -> None:
    install(machine, wishes("codex"), STDIO)

    assert servers(machine, "codex")["junto"]["required"] is True
    assert servers(machine, "codex")["junto"]["startup_timeout_sec"] == 60


def test_what_somebody_has_chosen_otherwise_stays(machine: Machine) -> None:
    install(machine, wishes("codex"), STDIO)
    file = file_of(machine, "codex")
    file.write_text(file.read_text().replace("required = true", "required = false"))

    install(machine, wishes("codex"), STDIO)

    assert servers(machine, "codex")["junto"]["required"] is False


def test_all_means_those_that_are_here(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    (machine.home / ".cursor").mkdir()
    (machine.home / ".claude.json").write_text("{}")

    install(machine, wishes(), STDIO)

    told = capsys.readouterr().err
    assert "Claude Code: wrote" in told
    assert "Cursor: wrote" in told
    assert f"Codex: skipped. There is no {machine.home / '.codex'}." in told
    assert not (machine.home / ".codex").exists()


def test_all_goes_on_behind_one_that_fails(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    file_of(machine, "cursor").write_text("{")
    file_of(machine, "codex")
    file_of(machine, "claude-desktop")

    with pytest.raises(InputOutputError, match="1 of 2 failed"):
        install(machine, wishes(), HTTP)

    told = capsys.readouterr().err
    assert "Cursor: " in told
    assert "Codex: wrote" in told
    assert "Claude Desktop: skipped. Claude Desktop only starts servers itself" in told


def test_all_where_there_is_none_is_a_failure(machine: Machine) -> None:
    with pytest.raises(NotFoundError, match="Name one"):
        install(machine, wishes(), STDIO)


@pytest.mark.parametrize(
    ("launch", "scope"), [(HTTP, "user"), (STDIO, "project")], ids=["http", "project"]
)
def test_what_a_client_cannot_do_is_said(machine: Machine, launch: Launch, scope: Scope) -> None:
    with pytest.raises(ConfigurationError, match=r"Claude Desktop .*: leave out --"):
        install(machine, wishes("claude-desktop", scope=scope), launch)


@pytest.mark.parametrize(
    ("http", "url"),
    [
        (Http(), "http://127.0.0.1:32701/mcp"),
        (Http(host="0.0.0.0", port=80), "http://127.0.0.1:80/mcp"),  # noqa: S104
        (Http(host="::", port=80), "http://[::1]:80/mcp"),
        (Http(host="[::1]", port=80), "http://[::1]:80/mcp"),
        (Http(host="localhost", port=80), "http://localhost:80/mcp"),
    ],
    ids=str,
)
def test_the_address_is_that_of_the_settings(http: Http, url: str) -> None:
    assert address(http) == url


def test_an_address_that_is_never_the_same_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"http\.port"):
        address(Http(port=0))


def test_the_command_is_this_very_junto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    program, *words = command(Path("c.yaml"))

    assert Path(program).parent == Path(sys.executable).parent
    assert words == ["mcp", "--config", str(tmp_path / "c.yaml")]


def test_without_a_program_python_starts_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))

    assert command(None) == (str(tmp_path / "python3"), "-P", "-m", "junto", "mcp")


def test_showing_writes_nothing(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    file_of(machine, "cursor").write_text("{ broken")

    show(machine, wishes("cursor", "codex"), STDIO)

    told = capsys.readouterr()
    assert json.loads(told.out[: told.out.index("[mcp_servers")])["mcpServers"]["junto"]
    assert "[mcp_servers.junto]" in told.out
    assert str(file_of(machine, "cursor")) in told.err
    assert file_of(machine, "cursor").read_text() == "{ broken"


def _junto(home: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto(*words),
        env=clean_environment(home, **variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_the_command_installs_shows_and_uninstalls(tmp_path: Path) -> None:
    shown = _junto(tmp_path, "install", "cursor", "--http", "--print", JUNTO_HTTP_PORT="4000")
    entry = json.loads(shown.stdout)["mcpServers"]["junto"]
    assert entry == {"url": "http://127.0.0.1:4000/mcp"}
    assert not (tmp_path / ".cursor").exists()

    done = _junto(tmp_path, "install", "cursor", "--name", "council")
    assert (done.returncode, done.stdout) == (0, "")
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["council"]
    assert shutil.which(entry["command"])

    gone = _junto(tmp_path, "uninstall", "--all", "--name", "council")
    assert gone.returncode == 0
    assert json.loads((tmp_path / ".cursor" / "mcp.json").read_text()) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["install"], 2, "Name a client"),
        (["install", "cursor", "--all"], 2, "Name a client"),
        (["install", "emacs"], 2, "take one of claude-code, claude-desktop, cursor"),
        (["install", "cursor", "--name", "a b"], 2, "--name takes letters"),
        (["install", "claude-desktop", "--http"], 2, "leave out --http"),
        (["install", "--all"], 1, "None of the clients is here"),
        (["install", "cursor", "--config", "absent.yaml"], 2, "absent.yaml"),
        (["uninstall"], 2, "Name a client"),
    ],
)
def test_exit_codes_mean_something(tmp_path: Path, words: list[str], code: int, told: str) -> None:
    done = _junto(tmp_path, *words)

    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr


@pytest.mark.parametrize("word", ["install", "uninstall"])
def test_the_help_names_every_client(tmp_path: Path, word: str) -> None:
    helped = " ".join(_junto(tmp_path, word, "--help").stdout.split())

    assert all(name in helped for name in NAMES)


@every_client
def test_the_manual_shows_what_would_be_written(name: str) -> None:
    client = found(name)
    page = (Path(__file__).parents[2] / "docs" / "clients" / f"{name}.md").read_text()
    blocks = re.findall(r"```(?:json|toml)\n(.*?)```", page, re.DOTALL)
    shown = [client.form.read(block)[client.section]["junto"] for block in blocks]

    stdio = client.stdio(("/full/path/of/junto", "mcp"))
    shared = client.stdio(("/full/path/of/junto", "mcp", "--shared"))
    assert f"junto install {name}\n" in page
    assert {**shown[0], **stdio.may} == stdio.whole()
    assert shown[1:-1] == ([client.http(HTTP.url).whole()] if client.http else [])
    assert {**shown[-1], **shared.may} == shared.whole()
