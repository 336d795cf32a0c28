"""Where each client keeps its servers, on every system and with every variable that moves them."""

from pathlib import Path

import pytest

from junto.cli.clients.known import CLIENTS
from junto.cli.clients.machine import Machine, System

HOMES = {
    "linux": ".config",
    "macos": "Library/Application Support",
    "windows": "AppData/Roaming",
}
# Below the home, where nothing moves them; `*` is where programs with windows keep things.
USUAL = {
    "claude-code": ".claude.json",
    "claude-desktop": "*/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": "*/Code/User/mcp.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}
MOVED: list[tuple[str, System, dict[str, str], str]] = [
    ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
    ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": ""}, "/home/.claude.json"),
    (
        "claude-desktop",
        "linux",
        {"XDG_CONFIG_HOME": "/x"},
        "/x/Claude/claude_desktop_config.json",
    ),
    (
        "claude-desktop",
        "windows",
        {"APPDATA": "/roaming"},
        "/roaming/Claude/claude_desktop_config.json",
    ),
    ("vscode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
    ("vscode", "windows", {"APPDATA": "/roaming"}, "/roaming/Code/User/mcp.json"),
    ("vscode", "macos", {"VSCODE_APPDATA": "/v"}, "/v/Code/User/mcp.json"),
    ("vscode", "windows", {"VSCODE_PORTABLE": "/p"}, "/p/user-data/User/mcp.json"),
    ("gemini", "linux", {"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"),
    ("codex", "windows", {"CODEX_HOME": "/o"}, "/o/config.toml"),
    ("codex", "linux", {"CODEX_HOME": "relative"}, "/here/relative/config.toml"),
    # What one system goes by means nothing on another.
    ("vscode", "macos", {"XDG_CONFIG_HOME": "/x"}, "/home/Library/Application Support/Code"),
    ("cursor", "windows", {"APPDATA": "/roaming"}, "/home/.cursor/mcp.json"),
]


def _file(name: str, machine: Machine) -> Path:
    return next(client for client in CLIENTS if client.name == name).user(machine)


@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize("system", HOMES)
def test_every_client_has_its_usual_place(name: str, system: System) -> None:
    home = Path("/home")

    file = _file(name, Machine(system, home, {}, Path("/here")))

    assert file == home / USUAL[name].replace("*", HOMES[system])


@pytest.mark.parametrize(("name", "system", "variables", "place"), MOVED)
def test_variables_move_it(
    name: str, system: System, variables: dict[str, str], place: str
) -> None:
    file = _file(name, Machine(system, Path("/home"), variables, Path("/here")))

    assert file.is_relative_to(place)


def test_a_packaged_claude_desktop_on_windows_has_a_place_of_its_own(tmp_path: Path) -> None:
    machine = Machine("windows", tmp_path, {"LOCALAPPDATA": str(tmp_path / "L")}, tmp_path)
    packaged = tmp_path / "L" / "Packages" / "Claude_abc" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)

    assert _file("claude-desktop", machine).parent == packaged

    moved = tmp_path / "L" / "Claude-Data" / "claude_abc"
    moved.mkdir(parents=True)

    assert _file("claude-desktop", machine).parent == moved


def test_the_early_file_of_claude_code_is_used_while_there_is_no_other(tmp_path: Path) -> None:
    machine = Machine("linux", tmp_path, {}, tmp_path)
    early = tmp_path / ".claude" / ".config.json"
    early.parent.mkdir()
    early.write_text("{}")

    assert _file("claude-code", machine) == early

    (tmp_path / ".claude.json").write_text("{}")

    assert _file("claude-code", machine) == tmp_path / ".claude.json"


def test_this_machine_is_one_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))

    machine = Machine.here()

    assert machine.home == tmp_path
    assert machine.named("CODEX_HOME") == tmp_path / "codex"
    assert machine.folder == Path.cwd()
