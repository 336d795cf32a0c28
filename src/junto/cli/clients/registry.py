"""The supported MCP clients: where each stores its servers, and the entries it expects."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from junto.cli.clients.entries import McpServerEntry
from junto.cli.clients.formats import ConfigFormat
from junto.cli.clients.jsonc_edits import JSONC
from junto.cli.clients.toml_edits import TOML
from junto.provider_specs.registry import PROVIDER_SPECS

InstallScope = Literal["user", "project"]
OperatingSystem = Literal["linux", "macos", "windows"]

# Variables that Junto reads and that some clients do not pass on by default. Entries contain only
# their names, never their values.
_PROVIDER_VARIABLES = {
    variable: option
    for spec in PROVIDER_SPECS.values()
    for variable, option in spec.variables.items()
}
_API_KEY_VARIABLES = tuple(
    variable for variable, option in _PROVIDER_VARIABLES.items() if option == "api_key"
)
_FORWARDED_VARIABLES = (
    *_API_KEY_VARIABLES,
    *(variable for variable in _PROVIDER_VARIABLES if variable not in _API_KEY_VARIABLES),
    "JUNTO_CONFIG",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
# How long Codex waits for Junto to start; the first start after an update compiles bytecode.
_STARTUP_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Platform:
    """The operating system, home directory, environment and working directory."""

    system: OperatingSystem
    home: Path
    environment: Mapping[str, str]
    working_dir: Path

    @classmethod
    def current(cls) -> Self:
        """Return the current platform.

        The environment is read directly because its variables belong to the clients, not to Junto.
        """
        system: dict[str, OperatingSystem] = {"darwin": "macos", "win32": "windows"}
        return cls(system.get(sys.platform, "linux"), Path.home(), dict(os.environ), Path.cwd())

    def path_from_variable(self, variable: str) -> Path | None:
        """Return the path that an environment variable contains, if it is set."""
        value = self.environment.get(variable)
        return self.working_dir / value if value else None

    def app_config_dir(self) -> Path:
        """Return the directory where desktop applications store their configuration."""
        match self.system:
            case "macos":
                return self.home / "Library" / "Application Support"
            case "windows":
                return self.path_from_variable("APPDATA") or self.home / "AppData" / "Roaming"
            case _:
                return self.path_from_variable("XDG_CONFIG_HOME") or self.home / ".config"

    def local_app_data_dir(self) -> Path:
        """Return the Windows directory for data that does not roam with the user."""
        return self.path_from_variable("LOCALAPPDATA") or self.home / "AppData" / "Local"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """An MCP client that Junto can be added to."""

    name: str
    title: str
    file_format: ConfigFormat
    section: str
    # `config_dir` exists if the client is installed; `project_config_path` is relative to the
    # project.
    config_dir: Callable[[Platform], Path]
    user_config_path: Callable[[Platform], Path]
    project_config_path: str | None
    build_stdio_entry: Callable[[Sequence[str]], McpServerEntry]
    build_http_entry: Callable[[str], McpServerEntry] | None
    next_steps: str
    project_next_steps: str = ""

    def config_path(self, platform: Platform, scope: InstallScope) -> Path | None:
        """Return the configuration file for a scope, or None if the client does not support it."""
        if scope == "user":
            return self.user_config_path(platform)
        return platform.working_dir / self.project_config_path if self.project_config_path else None


def _build_stdio_entry(argv: Sequence[str]) -> McpServerEntry:
    return McpServerEntry({"command": argv[0], "args": list(argv[1:])})


def _build_typed_stdio_entry(argv: Sequence[str]) -> McpServerEntry:
    return McpServerEntry({"type": "stdio", **_build_stdio_entry(argv).required})


def _build_typed_http_entry(url: str) -> McpServerEntry:
    return McpServerEntry({"type": "http", "url": url})


def _build_gemini_entry(argv: Sequence[str]) -> McpServerEntry:
    # Gemini CLI removes variables that look like keys from a server's environment unless the entry
    # names them.
    return McpServerEntry(
        _build_stdio_entry(argv).required,
        {"env": {name: f"${name}" for name in _API_KEY_VARIABLES}},
    )


def _build_codex_entry(argv: Sequence[str]) -> McpServerEntry:
    # Codex passes on only a dozen variables unless the entry names more. A server that is not
    # required gets one second to start; a turn that begins earlier, as it always does with
    # `codex exec`, does not see its tools.
    extra = {
        "env_vars": list(_FORWARDED_VARIABLES),
        "required": True,
        "startup_timeout_sec": _STARTUP_TIMEOUT_SECONDS,
    }
    return McpServerEntry(_build_stdio_entry(argv).required, extra)


def _claude_dir(platform: Platform) -> Path:
    return platform.path_from_variable("CLAUDE_CONFIG_DIR") or platform.home / ".claude"


def _claude_config_path(platform: Platform) -> Path:
    path = (platform.path_from_variable("CLAUDE_CONFIG_DIR") or platform.home) / ".claude.json"
    # The name in early versions, which is still read if the current file does not exist.
    legacy_path = _claude_dir(platform) / ".config.json"
    return legacy_path if legacy_path.is_file() and not path.exists() else path


def _claude_desktop_dir(platform: Platform) -> Path:
    """Return the directory of Claude Desktop; Windows redirects it for the packaged app.

    The packaged app does not read the documented directory, although it opens it for editing.
    """
    if platform.system == "windows":
        local_dir = platform.local_app_data_dir()
        candidates = (
            ("Claude-Data", "[Cc]laude*"),
            ("Packages", "Claude_*/LocalCache/Roaming/Claude"),
        )
        for parent, pattern in candidates:
            if matches := sorted((local_dir / parent).glob(pattern)):
                return matches[0]
    return platform.app_config_dir() / "Claude"


def _vscode_dir(platform: Platform) -> Path:
    if portable := platform.path_from_variable("VSCODE_PORTABLE"):
        return portable / "user-data"
    return (platform.path_from_variable("VSCODE_APPDATA") or platform.app_config_dir()) / "Code"


def _gemini_dir(platform: Platform) -> Path:
    return (platform.path_from_variable("GEMINI_CLI_HOME") or platform.home) / ".gemini"


def _codex_dir(platform: Platform) -> Path:
    return platform.path_from_variable("CODEX_HOME") or platform.home / ".codex"


CLIENTS = (
    ClientSpec(
        name="claude-code",
        title="Claude Code",
        file_format=JSONC,
        section="mcpServers",
        config_dir=_claude_dir,
        user_config_path=_claude_config_path,
        project_config_path=".mcp.json",
        build_stdio_entry=_build_typed_stdio_entry,
        build_http_entry=_build_typed_http_entry,
        next_steps="Start a new session; `claude mcp list` tells whether it connects, "
        "/mcp shows more.",
        project_next_steps="It asks once whether the servers of this project may be used.",
    ),
    ClientSpec(
        name="claude-desktop",
        title="Claude Desktop",
        file_format=JSONC,
        section="mcpServers",
        config_dir=_claude_desktop_dir,
        user_config_path=lambda platform: (
            _claude_desktop_dir(platform) / "claude_desktop_config.json"
        ),
        project_config_path=None,
        build_stdio_entry=_build_stdio_entry,
        build_http_entry=None,
        next_steps="Quit Claude Desktop, not only its window, and start it again; "
        "Settings > Developer shows the server.",
    ),
    ClientSpec(
        name="cursor",
        title="Cursor",
        file_format=JSONC,
        section="mcpServers",
        config_dir=lambda platform: platform.home / ".cursor",
        user_config_path=lambda platform: platform.home / ".cursor" / "mcp.json",
        project_config_path=".cursor/mcp.json",
        build_stdio_entry=_build_typed_stdio_entry,
        build_http_entry=lambda url: McpServerEntry({"url": url}),
        next_steps="Restart Cursor; its settings show the server under MCP, "
        "where it can be switched on.",
    ),
    ClientSpec(
        name="vscode",
        title="VS Code",
        file_format=JSONC,
        section="servers",
        config_dir=_vscode_dir,
        user_config_path=lambda platform: _vscode_dir(platform) / "User" / "mcp.json",
        project_config_path=".vscode/mcp.json",
        build_stdio_entry=_build_typed_stdio_entry,
        build_http_entry=_build_typed_http_entry,
        next_steps="Run the command `MCP: List Servers` in VS Code and start it there; "
        "VS Code asks once whether you trust it.",
    ),
    ClientSpec(
        name="gemini",
        title="Gemini CLI",
        file_format=JSONC,
        section="mcpServers",
        config_dir=_gemini_dir,
        user_config_path=lambda platform: _gemini_dir(platform) / "settings.json",
        project_config_path=".gemini/settings.json",
        build_stdio_entry=_build_gemini_entry,
        build_http_entry=lambda url: McpServerEntry({"httpUrl": url}),
        next_steps="Start a new session in a folder that Gemini CLI trusts; "
        "`gemini mcp list` tells whether it connects.",
    ),
    ClientSpec(
        name="codex",
        title="Codex",
        file_format=TOML,
        section="mcp_servers",
        config_dir=_codex_dir,
        user_config_path=lambda platform: _codex_dir(platform) / "config.toml",
        project_config_path=".codex/config.toml",
        build_stdio_entry=_build_codex_entry,
        build_http_entry=lambda url: McpServerEntry({"url": url}),
        next_steps="Start a new session; `codex mcp list` shows the entry, /mcp its tools.",
        project_next_steps="Codex reads it only if it trusts this project.",
    ),
)
