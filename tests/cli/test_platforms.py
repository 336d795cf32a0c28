"""Operating systems other than the one the tests run on, as far as they can be simulated."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from junto.cli.clients.registry import CLIENTS, ClientSpec, Platform
from junto.cli.install import InstallOptions, TransportConfig, build_command, install, uninstall
from junto.settings import Settings, load_settings
from junto.settings.paths import resolve_log_dir
from tests.clients import TIMEOUT_SECONDS, clean_environment, stdio_server

# Removes what only Linux has before Junto is imported; sysconfig and urllib load before that.
MACOS_PROGRAM = """
import os, sys, sysconfig, urllib.request
sysconfig.get_config_vars()
sys.platform = "darwin"
for name in ("O_PATH", "pidfd_open", "memfd_create", "sched_getaffinity", "eventfd", "splice"):
    if hasattr(os, name):
        delattr(os, name)
from junto.cli import main
main()
"""
# platformdirs checks `sys.platform` when it is imported, and the settings import it late.
STATE_DIR_PROGRAM = """
import sys
from junto.settings import Settings
from junto.settings.paths import resolve_state_dir
sys.platform = sys.argv[1]
if sys.platform == "win32":
    sys.modules["ctypes"] = None  # platformdirs then reads the environment variables
print(resolve_state_dir(Settings()))
"""
STATE_DIRS: list[tuple[str, dict[str, str], str]] = [
    ("linux", {}, "{home}/.local/share/junto"),
    ("linux", {"XDG_DATA_HOME": "{home}/data"}, "{home}/data/junto"),
    ("linux", {"XDG_DATA_HOME": ""}, "{home}/.local/share/junto"),
    ("darwin", {}, "{home}/Library/Application Support/junto"),
    (
        "win32",
        {"LOCALAPPDATA": r"C:\Users\Ada L\AppData\Local"},
        r"C:\Users\Ada L\AppData\Local/junto",  # pathlib joins with the separator of this system
    ),
]
WINDOWS_PROGRAM = r"C:\Program Files\Ada's \"Tools\"\Scripts\junto.exe"
every_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


@pytest.mark.parametrize(("system", "variables", "state_dir"), STATE_DIRS)
def test_state_is_stored_in_the_data_directory_of_the_system(
    system: str, variables: dict[str, str], state_dir: str, tmp_path: Path
) -> None:
    environment = clean_environment(tmp_path)
    del environment["XDG_DATA_HOME"]
    environment |= {name: value.format(home=tmp_path) for name, value in variables.items()}

    result = subprocess.run(
        [sys.executable, "-c", STATE_DIR_PROGRAM, system],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )

    assert result.stdout.strip() == state_dir.format(home=tmp_path)


def test_logs_are_stored_with_the_state_unless_configured_otherwise() -> None:
    state, logs = Path("/somewhere"), Path("/elsewhere")

    assert resolve_log_dir(Settings(state_directory=state)) == state / "logs"
    log_settings: Any = {"directory": logs}
    assert resolve_log_dir(Settings(state_directory=state, logging=log_settings)) == logs


@pytest.mark.parametrize(
    ("variables", "folder"),
    [({}, ".config"), ({"XDG_CONFIG_HOME": ""}, ".config"), ({"XDG_CONFIG_HOME": "x"}, "x")],
)
def test_the_settings_file_of_the_user_is_found(
    variables: dict[str, str], folder: str, tmp_path: Path
) -> None:
    file = tmp_path / folder / "junto" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("http: {port: 4711}\n")
    environment = {
        name: str(tmp_path / value) if value else "" for name, value in variables.items()
    }

    loaded = load_settings(environment=environment, home_dir=tmp_path, working_dir=tmp_path)

    assert loaded.settings.http.port == 4711


def test_on_windows_the_command_is_junto_exe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tmp_path / "Program Files"
    scripts.mkdir()
    for name in ("junto", "junto.exe"):
        (scripts / name).touch()
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(scripts))
    monkeypatch.setattr(sys, "platform", "win32")

    words = build_command(None)
    monkeypatch.undo()

    assert words == (str(scripts / "junto.exe"), "mcp")


@every_client
def test_a_windows_path_survives_install_and_uninstall(client: ClientSpec, tmp_path: Path) -> None:
    platform = Platform("windows", tmp_path, {"APPDATA": str(tmp_path / "Roaming")}, tmp_path)
    options = InstallOptions(clients=(client.name,), all_clients=False, scope="user", name="junto")
    transport = TransportConfig((WINDOWS_PROGRAM, "mcp", "--config", r"C:\new\table.yaml"))
    file = client.user_config_path(platform)
    file.parent.mkdir(parents=True, exist_ok=True)

    install(platform, options, transport)
    written = file.read_bytes()
    install(platform, options, transport)

    assert file.read_bytes() == written
    entry = client.file_format.parse(written.decode())[client.section]["junto"]
    assert (entry["command"], *entry["args"]) == transport.command
    uninstall(platform, options)
    assert b"Tools" not in file.read_bytes()


def test_on_macos_tools_stay_in_the_working_directory_and_state_is_stored(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "here.txt").write_text("found")
    (tmp_path / "out.txt").write_text("lost")
    environment = clean_environment(tmp_path)
    del environment["XDG_DATA_HOME"]

    with stdio_server([sys.executable, "-c", MACOS_PROGRAM, "mcp"], environment, folder) as client:

        def call_tool(number: int, name: str, **arguments: Any) -> str:
            answer = client.ask(number, "tools/call", name=name, arguments=arguments)
            return json.dumps(answer["result"])

        assert "found" in call_tool(1, "read_file", path="here.txt")
        assert "SecurityError" in call_tool(2, "read_file", path="../out.txt")
        assert "here.txt" in call_tool(3, "execute_command", command="ls")
        assert "Noted" in call_tool(4, "add_note", title="t", text="a note to keep")

    assert (tmp_path / "Library" / "Application Support" / "junto" / "junto.db").is_file()
