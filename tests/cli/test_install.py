"""`junto install` and `uninstall`, for every client and every state of its file."""

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

from junto.cli.clients.registry import CLIENTS, ClientSpec, InstallScope, Platform
from junto.cli.install import (
    InstallOptions,
    TransportConfig,
    build_command,
    build_server_url,
    install,
    print_entries,
    uninstall,
)
from junto.domain.errors import (
    ConfigurationError,
    InputOutputError,
    NotFoundError,
)
from junto.settings.schema import HttpSettings
from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command

STDIO = TransportConfig(("/opt/junto/bin/junto", "mcp"))
HTTP = TransportConfig((), "http://127.0.0.1:32701/mcp")
CLIENT_NAMES = [client.name for client in CLIENTS]
JSON_CLIENT_NAMES = [client.name for client in CLIENTS if client.file_format.title == "JSON"]
every_client = pytest.mark.parametrize("name", CLIENT_NAMES)


@pytest.fixture
def platform(tmp_path: Path) -> Platform:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return Platform("linux", tmp_path / "home", {}, tmp_path / "project")


def find_client(name: str) -> ClientSpec:
    return next(client for client in CLIENTS if client.name == name)


def build_options(*names: str, scope: InstallScope = "user", name: str = "junto") -> InstallOptions:
    return InstallOptions(clients=names, all_clients=not names, scope=scope, name=name)


def install_and_uninstall(platform: Platform, name: str) -> tuple[Callable[[], None], ...]:
    """Return both actions, to test what neither of them may do."""
    return (
        lambda: install(platform, build_options(name), STDIO),
        lambda: uninstall(platform, build_options(name)),
    )


def config_path(platform: Platform, name: str) -> Path:
    file = find_client(name).user_config_path(platform)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def read_servers(platform: Platform, name: str) -> dict[str, Any]:
    client = find_client(name)
    document = client.file_format.parse(client.user_config_path(platform).read_text("utf-8-sig"))
    return dict(document[client.section])


# What a file may contain before `install`. `{section}` stands for the client's section.
JSON_TEXTS = {
    "an empty section": '{\n  "{section}": {}\n}\n',
    "other servers": '{\n  "a": [1, 2],\n  "{section}": {\n    "x": {"command": "y"}\n  }\n}\n',
    "comments": '// mine\n{\n  "{section}": { // all\n    "x": {} /* the last */ // one\n  }\n}\n',
    "trailing commas": '{\n  "{section}": {\n    "x": {},\n  },\n}',
    "tabs": '{\n\t"{section}": {\n\t\t"x": {}\n\t}\n}',
    "one line": '{"{section}":{"x":{"command":"y"}},"b":null}',
    "CRLF line endings": '{\r\n    "{section}": {\r\n        "x": {}\r\n    }\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "{section}": {"x": {}}\n}\n',
}
TOML_TEXTS = {
    "an empty section": "[{section}]\n",
    "other servers": "model = 'm'\n\n[{section}.x]\ncommand = 'y'\n\n[tui]\nz = 1\n",
    "comments": "# mine\n[{section}.x] # the first\ncommand = 'y' # one\n\n# the end\n",
    "no final newline": "[{section}.x]\ncommand = 'y'",
    "CRLF line endings": "[{section}.x]\r\ncommand = 'y'\r\n",
    "a byte order mark": "\ufeff[{section}.x]\ncommand = 'y'\n",
    "an empty file": "",
    "blank lines": "\n\n",
}
CONFIG_CASES = [
    pytest.param(name, text, transport, id=f"{name}, {state}, {transport_name}")
    for name in CLIENT_NAMES
    for transport_name, transport in (("stdio", STDIO), ("http", HTTP))
    for state, text in (JSON_TEXTS if name in JSON_CLIENT_NAMES else TOML_TEXTS).items()
    if transport_name == "stdio" or find_client(name).build_http_entry
]


@pytest.mark.parametrize(("name", "text", "transport"), CONFIG_CASES)
def test_uninstall_restores_the_file_that_install_changed(
    platform: Platform, name: str, text: str, transport: TransportConfig
) -> None:
    client = find_client(name)
    file, before = config_path(platform, name), text.replace("{section}", client.section).encode()
    file.write_bytes(before)

    install(platform, build_options(name), transport)

    servers = read_servers(platform, name)
    assert servers.pop("junto") == transport.build_entry(client).to_dict()
    assert servers == client.file_format.parse(before.decode("utf-8-sig")).get(client.section, {})

    install(platform, build_options(name), transport)
    assert len(list(file.parent.glob("*.junto-backup-*"))) == 1, "it was written again"

    uninstall(platform, build_options(name))
    assert file.read_bytes() == before


@every_client
def test_a_missing_file_is_created(
    platform: Platform, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(platform, build_options(name), STDIO)

    assert read_servers(platform, name) == {"junto": STDIO.build_entry(find_client(name)).to_dict()}
    captured = capsys.readouterr()
    assert captured.out == ""
    assert (
        f"{find_client(name).title}: wrote `junto` to "
        f"{find_client(name).user_config_path(platform)}." in captured.err
    )
    assert "It starts `/opt/junto/bin/junto mcp`." in captured.err
    assert find_client(name).next_steps in captured.err


@every_client
@pytest.mark.parametrize("text", ["", "\n", " \r\n\t"])
def test_an_empty_file_is_like_a_missing_one(platform: Platform, name: str, text: str) -> None:
    config_path(platform, name).write_text(text)

    install(platform, build_options(name), STDIO)

    assert read_servers(platform, name) == {"junto": STDIO.build_entry(find_client(name)).to_dict()}


@every_client
def test_an_unchanged_entry_is_not_written_again(
    platform: Platform, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(platform, build_options(name), STDIO)
    before = config_path(platform, name).stat().st_mtime_ns
    capsys.readouterr()

    install(platform, build_options(name), STDIO)

    assert config_path(platform, name).stat().st_mtime_ns == before
    assert "already there" in capsys.readouterr().err


@every_client
def test_an_old_entry_is_updated_and_keeps_what_the_user_added(
    platform: Platform, name: str
) -> None:
    client, file = find_client(name), config_path(platform, name)
    install(platform, build_options(name), TransportConfig(("/old/venv/bin/junto", "mcp")))
    path = (client.section, "junto")
    text = client.file_format.set_value(
        file.read_text(), (*path, "args"), ["mcp", "--log-level", "debug"]
    )
    file.write_text(client.file_format.set_value(text, (*path, "cwd"), "/work"))

    install(platform, build_options(name), STDIO)

    assert read_servers(platform, name)["junto"] == {
        **STDIO.build_entry(client).to_dict(),
        "args": ["mcp", "--log-level", "debug"],
        "cwd": "/work",
    }


@pytest.mark.parametrize(
    "name", [name for name in CLIENT_NAMES if find_client(name).build_http_entry]
)
def test_an_entry_changes_from_a_command_to_a_url_and_back(platform: Platform, name: str) -> None:
    install(platform, build_options(name), STDIO)
    before = config_path(platform, name).read_bytes()

    install(platform, build_options(name), HTTP)
    assert read_servers(platform, name) == {"junto": HTTP.build_entry(find_client(name)).to_dict()}

    install(platform, build_options(name), STDIO)
    assert config_path(platform, name).read_bytes() == before


@every_client
def test_an_entry_under_an_earlier_name_is_renamed(platform: Platform, name: str) -> None:
    install(platform, build_options(name, name="council"), STDIO)

    install(platform, build_options(name), STDIO)

    assert list(read_servers(platform, name)) == ["junto"]


@every_client
def test_an_entry_that_the_user_changed_is_not_renamed(platform: Platform, name: str) -> None:
    install(
        platform,
        build_options(name, name="council"),
        TransportConfig((*STDIO.command, "--config", "/c.yaml")),
    )

    install(platform, build_options(name), STDIO)

    assert set(read_servers(platform, name)) == {"council", "junto"}


FOREIGN_ENTRIES: list[dict[str, Any]] = [
    {"command": "npx", "args": ["-y", "@somebody/junto"]},
    {"command": "files", "args": ["/home/me/junto"]},
    {"url": "https://junto.example.org/mcp"},
    {"url": "http://[broken/mcp"},
    {"command": 3, "args": "mcp"},
    {},
]


@every_client
@pytest.mark.parametrize("entry", FOREIGN_ENTRIES, ids=str)
def test_another_server_with_the_same_name_is_left_alone(
    platform: Platform, name: str, entry: dict[str, Any]
) -> None:
    client, file = find_client(name), config_path(platform, name)
    file.write_text(client.file_format.set_value("", (client.section, "junto"), entry))
    before = file.read_bytes()

    for action in install_and_uninstall(platform, name):
        with pytest.raises(InputOutputError, match=r"another server.*--name"):
            action()

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
def test_a_hand_written_junto_entry_is_recognized_and_updated(
    platform: Platform, entry: dict[str, Any]
) -> None:
    config_path(platform, "cursor").write_text(json.dumps({"mcpServers": {"junto": entry}}))

    install(platform, build_options("cursor"), STDIO)

    assert read_servers(platform, "cursor")["junto"]["command"] == "/opt/junto/bin/junto"
    assert read_servers(platform, "cursor")["junto"]["args"] == ["mcp"]


BROKEN_FILES = [
    *((name, '{\n  "x": 1\n  "y": 2\n}\n', "line 3, column 3") for name in JSON_CLIENT_NAMES),
    ("codex", "x = 1\ny = = 2\n", "line 2, column 5"),
]
WRONG_SECTIONS = [
    *(
        (name, text)
        for name in JSON_CLIENT_NAMES
        for text in ('{"{section}": []}', '{"{section}": "x"}', "[]")
    ),
    *(("codex", text) for text in ("{section} = []\n", "{section} = 'x'\n")),
]


@pytest.mark.parametrize(("name", "text", "position"), BROKEN_FILES)
def test_a_broken_file_is_reported_and_left_alone(
    platform: Platform, name: str, text: str, position: str
) -> None:
    file = config_path(platform, name)
    file.write_text(text)

    for action in install_and_uninstall(platform, name):
        with pytest.raises(InputOutputError, match=position) as caught:
            action()
        assert str(file) in caught.value.message
        assert caught.value.message.endswith("Mend it and try again.")

    assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(("name", "text"), WRONG_SECTIONS)
def test_a_section_of_the_wrong_type_is_reported_and_left_alone(
    platform: Platform, name: str, text: str
) -> None:
    file, text = config_path(platform, name), text.replace("{section}", find_client(name).section)
    file.write_text(text)

    for action in install_and_uninstall(platform, name):
        with pytest.raises(InputOutputError, match=r"left alone.*by hand\."):
            action()

    assert file.read_text() == text


@every_client
def test_a_read_only_file_is_reported_and_left_alone(platform: Platform, name: str) -> None:
    file = config_path(platform, name)
    file.write_text("")
    file.chmod(0o444)

    with pytest.raises(InputOutputError, match=r"read-only.*--print.*by hand\."):
        install(platform, build_options(name), STDIO)

    assert file.read_text() == ""


@every_client
def test_a_symlink_stays_a_symlink(platform: Platform, name: str, tmp_path: Path) -> None:
    file, target = config_path(platform, name), tmp_path / "dotfile"
    target.write_text("")
    file.symlink_to(target)

    install(platform, build_options(name), STDIO)

    assert file.is_symlink()
    assert "junto" in target.read_text()


@every_client
def test_uninstall_without_an_entry_succeeds(
    platform: Platform, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    uninstall(platform, build_options(name))

    assert "there is no `junto` in" in capsys.readouterr().err
    assert list(platform.home.iterdir()) == []


@pytest.mark.parametrize(
    "name", [name for name in CLIENT_NAMES if find_client(name).project_config_path]
)
def test_project_scope_writes_only_the_project_file(platform: Platform, name: str) -> None:
    install(platform, build_options(name, scope="project"), STDIO)

    file = platform.working_dir / str(find_client(name).project_config_path)
    assert "/opt/junto/bin/junto" in file.read_text()
    assert list(platform.home.iterdir()) == []


@every_client
def test_values_of_environment_variables_are_never_written(platform: Platform, name: str) -> None:
    secret = "sk-ant-0123456789"  # noqa: S105 - a fake key
    platform_with_keys = replace(
        platform, environment={"ANTHROPIC_API_KEY": secret, "GEMINI_API_KEY": secret}
    )

    install(platform_with_keys, build_options(name), STDIO)

    assert secret not in config_path(platform, name).read_text()


def test_clients_that_filter_the_environment_get_the_names_of_keys(platform: Platform) -> None:
    install(platform, build_options("gemini", "codex"), STDIO)

    assert read_servers(platform, "gemini")["junto"]["env"]["OPENAI_API_KEY"] == "$OPENAI_API_KEY"
    assert "OPENAI_API_KEY" in read_servers(platform, "codex")["junto"]["env_vars"]


def test_codex_waits_for_junto_to_start(platform: Platform) -> None:
    install(platform, build_options("codex"), STDIO)

    assert read_servers(platform, "codex")["junto"]["required"] is True
    assert read_servers(platform, "codex")["junto"]["startup_timeout_sec"] == 60


def test_a_default_that_the_user_changed_is_kept(platform: Platform) -> None:
    install(platform, build_options("codex"), STDIO)
    file = config_path(platform, "codex")
    file.write_text(file.read_text().replace("required = true", "required = false"))

    install(platform, build_options("codex"), STDIO)

    assert read_servers(platform, "codex")["junto"]["required"] is False


def test_all_installs_for_the_clients_that_are_present(
    platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    (platform.home / ".cursor").mkdir()
    (platform.home / ".claude.json").write_text("{}")

    install(platform, build_options(), STDIO)

    stderr = capsys.readouterr().err
    assert "Claude Code: wrote" in stderr
    assert "Cursor: wrote" in stderr
    assert f"Codex: skipped. There is no {platform.home / '.codex'}." in stderr
    assert not (platform.home / ".codex").exists()


def test_all_continues_after_a_client_that_fails(
    platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    config_path(platform, "cursor").write_text("{")
    config_path(platform, "codex")
    config_path(platform, "claude-desktop")

    with pytest.raises(InputOutputError, match="1 of 2 failed"):
        install(platform, build_options(), HTTP)

    stderr = capsys.readouterr().err
    assert "Cursor: " in stderr
    assert "Codex: wrote" in stderr
    assert "Claude Desktop: skipped. Claude Desktop only starts servers itself" in stderr


def test_all_without_any_client_fails(platform: Platform) -> None:
    with pytest.raises(NotFoundError, match="Name one"):
        install(platform, build_options(), STDIO)


@pytest.mark.parametrize(
    ("transport", "scope"), [(HTTP, "user"), (STDIO, "project")], ids=["http", "project"]
)
def test_an_option_that_a_client_does_not_support_is_reported(
    platform: Platform, transport: TransportConfig, scope: InstallScope
) -> None:
    with pytest.raises(ConfigurationError, match=r"Claude Desktop .*: leave out --"):
        install(platform, build_options("claude-desktop", scope=scope), transport)


@pytest.mark.parametrize(
    ("http", "url"),
    [
        (HttpSettings(), "http://127.0.0.1:32701/mcp"),
        (HttpSettings(host="0.0.0.0", port=80), "http://127.0.0.1:80/mcp"),  # noqa: S104
        (HttpSettings(host="::", port=80), "http://[::1]:80/mcp"),
        (HttpSettings(host="[::1]", port=80), "http://[::1]:80/mcp"),
        (HttpSettings(host="localhost", port=80), "http://localhost:80/mcp"),
    ],
    ids=str,
)
def test_the_server_url_comes_from_the_settings(http: HttpSettings, url: str) -> None:
    assert build_server_url(http) == url


def test_a_server_url_with_a_random_port_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"http\.port"):
        build_server_url(HttpSettings(port=0))


def test_the_command_is_the_running_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    program, *words = build_command(Path("c.yaml"))

    assert Path(program).parent == Path(sys.executable).parent
    assert words == ["mcp", "--config", str(tmp_path / "c.yaml")]


def test_without_a_script_the_command_runs_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))

    assert build_command(None) == (str(tmp_path / "python3"), "-P", "-m", "junto", "mcp")


def test_print_writes_no_file(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    config_path(platform, "cursor").write_text("{ broken")

    print_entries(platform, build_options("cursor", "codex"), STDIO)

    captured = capsys.readouterr()
    assert json.loads(captured.out[: captured.out.index("[mcp_servers")])["mcpServers"]["junto"]
    assert "[mcp_servers.junto]" in captured.out
    assert str(config_path(platform, "cursor")) in captured.err
    assert config_path(platform, "cursor").read_text() == "{ broken"


def _run_junto(home: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        junto_command(*words),
        env=clean_environment(home, **variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def test_the_command_installs_prints_and_uninstalls(tmp_path: Path) -> None:
    printed = _run_junto(tmp_path, "install", "cursor", "--http", "--print", JUNTO_HTTP_PORT="4000")
    entry = json.loads(printed.stdout)["mcpServers"]["junto"]
    assert entry == {"url": "http://127.0.0.1:4000/mcp"}
    assert not (tmp_path / ".cursor").exists()

    installed = _run_junto(tmp_path, "install", "cursor", "--name", "council")
    assert (installed.returncode, installed.stdout) == (0, "")
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["council"]
    assert shutil.which(entry["command"])

    uninstalled = _run_junto(tmp_path, "uninstall", "--all", "--name", "council")
    assert uninstalled.returncode == 0
    assert json.loads((tmp_path / ".cursor" / "mcp.json").read_text()) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("words", "code", "message"),
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
def test_errors_have_an_exit_code_and_a_message(
    tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    result = _run_junto(tmp_path, *words)

    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_the_help_names_every_client(tmp_path: Path, command: str) -> None:
    help_text = " ".join(_run_junto(tmp_path, command, "--help").stdout.split())

    assert all(name in help_text for name in CLIENT_NAMES)


@every_client
def test_the_documentation_shows_the_entries_that_are_written(name: str) -> None:
    client = find_client(name)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "clients" / f"{name}.md").read_text()
    blocks = re.findall(r"```(?:json|toml)\n(.*?)```", page, re.DOTALL)
    entries = [client.file_format.parse(block)[client.section]["junto"] for block in blocks]

    stdio = client.build_stdio_entry(("/full/path/of/junto", "mcp"))
    shared = client.build_stdio_entry(("/full/path/of/junto", "mcp", "--shared"))
    assert f"junto install {name}\n" in page
    assert {**entries[0], **stdio.defaults} == stdio.to_dict()
    assert entries[1:-1] == (
        [client.build_http_entry(HTTP.url).to_dict()] if client.build_http_entry else []
    )
    assert {**entries[-1], **shared.defaults} == shared.to_dict()


def test_the_profile_is_written_to_the_entry(tmp_path: Path) -> None:
    installed = _run_junto(tmp_path, "install", "cursor", "--profile", "council")
    over_http = _run_junto(tmp_path, "install", "cursor", "--http", "--profile", "council")

    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["junto"]
    assert installed.returncode == 0
    assert entry["args"][-3:] == ["mcp", "--profile", "council"]
    assert over_http.returncode == 2
    assert "tools.profile" in over_http.stderr
