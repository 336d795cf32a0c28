"""The clients that Junto knows: where each keeps its servers, and how it wants an entry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from junto.cli.clients.entries import Entry
from junto.cli.clients.forms import Form
from junto.cli.clients.jsonc_edits import JSONC
from junto.cli.clients.machine import Machine
from junto.cli.clients.toml_edits import TOML

Scope = Literal["user", "project"]

# Variables that Junto reads and some clients do not pass on by themselves. Only the names are
# written down; a value stays where it is.
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
_FORWARDED = (
    *_KEYS,
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "JUNTO_CONFIG",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
# Codex waits so long for a server to come up; a first start after an update has to compile.
_STARTUP_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that Junto can be added to."""

    name: str
    title: str
    form: Form
    section: str
    # What shows that it is on this machine, the file for everything somebody does there, and the
    # one of a project, as a path inside it.
    home: Callable[[Machine], Path]
    user: Callable[[Machine], Path]
    project: str | None
    stdio: Callable[[Sequence[str]], Entry]
    http: Callable[[str], Entry] | None
    then: str
    then_in_project: str = ""

    def file(self, machine: Machine, scope: Scope) -> Path | None:
        """Return the file for a scope, if the client has that."""
        if scope == "user":
            return self.user(machine)
        return machine.folder / self.project if self.project else None


def _plain(words: Sequence[str]) -> Entry:
    return Entry({"command": words[0], "args": list(words[1:])})


def _typed(words: Sequence[str]) -> Entry:
    return Entry({"type": "stdio", **_plain(words).must})


def _typed_url(url: str) -> Entry:
    return Entry({"type": "http", "url": url})


def _gemini(words: Sequence[str]) -> Entry:
    # It takes whatever looks like a key out of a server's environment, unless the entry names it.
    return Entry(_plain(words).must, {"env": {name: f"${name}" for name in _KEYS}})


def _codex(words: Sequence[str]) -> Entry:
    # It passes on a dozen variables and no more, unless the entry names them. A server that is not
    # required has one second to start, and a turn that begins sooner, as the one of `codex exec`
    # always does, goes without its tools.
    extra = {
        "env_vars": list(_FORWARDED),
        "required": True,
        "startup_timeout_sec": _STARTUP_SECONDS,
    }
    return Entry(_plain(words).must, extra)


def _claude_home(machine: Machine) -> Path:
    return machine.named("CLAUDE_CONFIG_DIR") or machine.home / ".claude"


def _claude_file(machine: Machine) -> Path:
    file = (machine.named("CLAUDE_CONFIG_DIR") or machine.home) / ".claude.json"
    # The name of early versions, which is still read where there is nothing else.
    early = _claude_home(machine) / ".config.json"
    return early if early.is_file() and not file.exists() else file


def _desktop_home(machine: Machine) -> Path:
    """Return the folder of Claude Desktop; a packaged one on Windows is kept apart by the system.

    It does not read the folder that its manual names then, although it opens it for editing.
    """
    if machine.system == "windows":
        local = machine.local_applications()
        packaged = (
            ("Claude-Data", "[Cc]laude*"),
            ("Packages", "Claude_*/LocalCache/Roaming/Claude"),
        )
        for folder, pattern in packaged:
            if found := sorted((local / folder).glob(pattern)):
                return found[0]
    return machine.applications() / "Claude"


def _vscode_home(machine: Machine) -> Path:
    if portable := machine.named("VSCODE_PORTABLE"):
        return portable / "user-data"
    return (machine.named("VSCODE_APPDATA") or machine.applications()) / "Code"


def _gemini_home(machine: Machine) -> Path:
    return (machine.named("GEMINI_CLI_HOME") or machine.home) / ".gemini"


def _codex_home(machine: Machine) -> Path:
    return machine.named("CODEX_HOME") or machine.home / ".codex"


CLIENTS = (
    Client(
        name="claude-code",
        title="Claude Code",
        form=JSONC,
        section="mcpServers",
        home=_claude_home,
        user=_claude_file,
        project=".mcp.json",
        stdio=_typed,
        http=_typed_url,
        then="Start a new session; `claude mcp list` tells whether it connects, /mcp shows more.",
        then_in_project="It asks once whether the servers of this project may be used.",
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        form=JSONC,
        section="mcpServers",
        home=_desktop_home,
        user=lambda machine: _desktop_home(machine) / "claude_desktop_config.json",
        project=None,
        stdio=_plain,
        http=None,
        then="Quit Claude Desktop, not only its window, and start it again; "
        "Settings > Developer shows the server.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        form=JSONC,
        section="mcpServers",
        home=lambda machine: machine.home / ".cursor",
        user=lambda machine: machine.home / ".cursor" / "mcp.json",
        project=".cursor/mcp.json",
        stdio=_typed,
        http=lambda url: Entry({"url": url}),
        then="Restart Cursor; its settings show the server under MCP, where it can be switched on.",
    ),
    Client(
        name="vscode",
        title="VS Code",
        form=JSONC,
        section="servers",
        home=_vscode_home,
        user=lambda machine: _vscode_home(machine) / "User" / "mcp.json",
        project=".vscode/mcp.json",
        stdio=_typed,
        http=_typed_url,
        then="Run the command `MCP: List Servers` in VS Code and start it there; "
        "VS Code asks once whether you trust it.",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        form=JSONC,
        section="mcpServers",
        home=_gemini_home,
        user=lambda machine: _gemini_home(machine) / "settings.json",
        project=".gemini/settings.json",
        stdio=_gemini,
        http=lambda url: Entry({"httpUrl": url}),
        then="Start a new session in a folder that Gemini CLI trusts; `gemini mcp list` tells "
        "whether it connects.",
    ),
    Client(
        name="codex",
        title="Codex",
        form=TOML,
        section="mcp_servers",
        home=_codex_home,
        user=lambda machine: _codex_home(machine) / "config.toml",
        project=".codex/config.toml",
        stdio=_codex,
        http=lambda url: Entry({"url": url}),
        then="Start a new session; `codex mcp list` shows the entry, /mcp its tools.",
        then_in_project="Codex reads it only if it trusts this project.",
    ),
)
