"""The configuration path of each client, on every system and with every variable that moves it."""

from pathlib import Path

import pytest

from junto.cli.clients.registry import CLIENTS, OperatingSystem, Platform

APPLICATION_DIRS = {
    "linux": ".config",
    "macos": "Library/Application Support",
    "windows": "AppData/Roaming",
}
# Relative to the home directory; `*` is the directory where desktop applications store settings.
DEFAULT_PATHS = {
    "claude-code": ".claude.json",
    "claude-desktop": "*/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": "*/Code/User/mcp.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}
OVERRIDDEN_PATHS: list[tuple[str, OperatingSystem, dict[str, str], str]] = [
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
    # A variable of one system has no effect on another.
    ("vscode", "macos", {"XDG_CONFIG_HOME": "/x"}, "/home/Library/Application Support/Code"),
    ("cursor", "windows", {"APPDATA": "/roaming"}, "/home/.cursor/mcp.json"),
]


def _config_path(name: str, platform: Platform) -> Path:
    return next(client for client in CLIENTS if client.name == name).user_config_path(platform)


@pytest.mark.parametrize("name", DEFAULT_PATHS)
@pytest.mark.parametrize("system", APPLICATION_DIRS)
def test_every_client_has_its_default_path(name: str, system: OperatingSystem) -> None:
    home = Path("/home")

    file = _config_path(name, Platform(system, home, {}, Path("/here")))

    assert file == home / DEFAULT_PATHS[name].replace("*", APPLICATION_DIRS[system])


@pytest.mark.parametrize(("name", "system", "variables", "expected"), OVERRIDDEN_PATHS)
def test_variables_change_the_path(
    name: str, system: OperatingSystem, variables: dict[str, str], expected: str
) -> None:
    file = _config_path(name, Platform(system, Path("/home"), variables, Path("/here")))

    assert file.is_relative_to(expected)


def test_a_packaged_claude_desktop_on_windows_has_its_own_path(tmp_path: Path) -> None:
    platform = Platform("windows", tmp_path, {"LOCALAPPDATA": str(tmp_path / "L")}, tmp_path)
    packaged = tmp_path / "L" / "Packages" / "Claude_abc" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)

    assert _config_path("claude-desktop", platform).parent == packaged

    moved = tmp_path / "L" / "Claude-Data" / "claude_abc"
    moved.mkdir(parents=True)

    assert _config_path("claude-desktop", platform).parent == moved


def test_the_legacy_file_of_claude_code_is_used_if_there_is_no_other(tmp_path: Path) -> None:
    platform = Platform("linux", tmp_path, {}, tmp_path)
    legacy = tmp_path / ".claude" / ".config.json"
    legacy.parent.mkdir()
    legacy.write_text("{}")

    assert _config_path("claude-code", platform) == legacy

    (tmp_path / ".claude.json").write_text("{}")

    assert _config_path("claude-code", platform) == tmp_path / ".claude.json"


def test_the_current_platform_has_the_home_and_variables_of_this_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))

    platform = Platform.current()

    assert platform.home == tmp_path
    assert platform.path_from_variable("CODEX_HOME") == tmp_path / "codex"
    assert platform.working_dir == Path.cwd()
