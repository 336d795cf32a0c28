"""Other systems than the one the tests run on, as far as they can be put on like a mask."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from junto.cli.clients.known import CLIENTS, Client
from junto.cli.clients.machine import Machine
from junto.cli.install import Launch, Wishes, command, install, uninstall
from junto.settings import Settings, load
from junto.settings.places import log_directory
from tests.clients import SECONDS, child, clean_environment

# What only Linux has goes away before Junto is imported. Python's own modules keep what they know.
MAC = """
import os, sys, sysconfig, urllib.request
sysconfig.get_config_vars()
sys.platform = "darwin"
for name in ("O_PATH", "pidfd_open", "memfd_create", "sched_getaffinity", "eventfd", "splice"):
    if hasattr(os, name):
        delattr(os, name)
from junto.cli import main
main()
"""
# platformdirs looks at the system when it is imported, which the settings do late.
WHERE = """
import sys
from junto.settings import Settings
from junto.settings.places import state_directory
sys.platform = sys.argv[1]
if sys.platform == "win32":
    sys.modules["ctypes"] = None  # the system cannot be asked, so its variables are
print(state_directory(Settings()))
"""
PLACES: list[tuple[str, dict[str, str], str]] = [
    ("linux", {}, "{home}/.local/share/junto"),
    ("linux", {"XDG_DATA_HOME": "{home}/data"}, "{home}/data/junto"),
    ("linux", {"XDG_DATA_HOME": ""}, "{home}/.local/share/junto"),
    ("darwin", {}, "{home}/Library/Application Support/junto"),
    (
        "win32",
        {"LOCALAPPDATA": r"C:\Users\Ada L\AppData\Local"},
        r"C:\Users\Ada L\AppData\Local/junto",  # the last step is taken as it is taken here
    ),
]
WINDOWS_PROGRAM = r"C:\Program Files\Ada's \"Tools\"\Scripts\junto.exe"
every_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


@pytest.mark.parametrize(("system", "variables", "place"), PLACES)
def test_state_is_kept_where_the_system_keeps_such_things(
    system: str, variables: dict[str, str], place: str, tmp_path: Path
) -> None:
    environment = clean_environment(tmp_path)
    del environment["XDG_DATA_HOME"]
    environment |= {name: value.format(home=tmp_path) for name, value in variables.items()}

    done = subprocess.run(
        [sys.executable, "-c", WHERE, system],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )

    assert done.stdout.strip() == place.format(home=tmp_path)


def test_logs_are_kept_with_the_state_unless_told_otherwise() -> None:
    state, logs = Path("/somewhere"), Path("/elsewhere")

    assert log_directory(Settings(state_directory=state)) == state / "logs"
    told: Any = {"directory": logs}
    assert log_directory(Settings(state_directory=state, logging=told)) == logs


@pytest.mark.parametrize(
    ("variables", "folder"),
    [({}, ".config"), ({"XDG_CONFIG_HOME": ""}, ".config"), ({"XDG_CONFIG_HOME": "x"}, "x")],
)
def test_the_file_of_the_user_is_found(
    variables: dict[str, str], folder: str, tmp_path: Path
) -> None:
    file = tmp_path / folder / "junto" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("http: {port: 4711}\n")
    environment = {
        name: str(tmp_path / value) if value else "" for name, value in variables.items()
    }

    loaded = load(environment=environment, home=tmp_path, directory=tmp_path)

    assert loaded.settings.http.port == 4711


def test_on_windows_the_program_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tmp_path / "Program Files"
    scripts.mkdir()
    for name in ("junto", "junto.exe"):
        (scripts / name).touch()
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(scripts))
    monkeypatch.setattr(sys, "platform", "win32")

    words = command(None)
    monkeypatch.undo()

    assert words == (str(scripts / "junto.exe"), "mcp")


@every_client
def test_a_path_of_windows_comes_and_goes_unharmed(client: Client, tmp_path: Path) -> None:
    machine = Machine("windows", tmp_path, {"APPDATA": str(tmp_path / "Roaming")}, tmp_path)
    wishes = Wishes(clients=(client.name,), every=False, scope="user", name="junto")
    launch = Launch((WINDOWS_PROGRAM, "mcp", "--config", r"C:\new\table.yaml"))
    file = client.user(machine)
    file.parent.mkdir(parents=True, exist_ok=True)

    install(machine, wishes, launch)
    written = file.read_bytes()
    install(machine, wishes, launch)

    assert file.read_bytes() == written
    entry = client.form.read(written.decode())[client.section]["junto"]
    assert (entry["command"], *entry["args"]) == launch.words
    uninstall(machine, wishes)
    assert b"Tools" not in file.read_bytes()


def test_on_a_mac_it_serves_and_keeps_what_it_should(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "here.txt").write_text("found")
    (tmp_path / "out.txt").write_text("lost")
    environment = clean_environment(tmp_path)
    del environment["XDG_DATA_HOME"]

    with child([sys.executable, "-c", MAC, "mcp"], environment, folder) as client:

        def called(number: int, name: str, **arguments: Any) -> str:
            answer = client.ask(number, "tools/call", name=name, arguments=arguments)
            return json.dumps(answer["result"])

        assert "found" in called(1, "read_file", path="here.txt")
        assert "SecurityError" in called(2, "read_file", path="../out.txt")
        assert "here.txt" in called(3, "execute_command", command="ls")
        assert "Noted" in called(4, "add_note", title="t", text="a note to keep")

    assert (tmp_path / "Library" / "Application Support" / "junto" / "junto.db").is_file()
