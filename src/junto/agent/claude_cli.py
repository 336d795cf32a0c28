"""The Claude Code CLI: where it is installed, its command line and its environment.

The CLI inherits only a short list of our environment variables.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from junto.agent.options import RunOptions
from junto.domain.errors import AuthenticationError
from junto.runtime.processes import ProcessUser

if TYPE_CHECKING:
    from pwd import struct_passwd

# Variables that the CLI and its tools need. Only the proxy variables can hold a password, and
# without them the CLI may have no network access.
_INHERITED_VARIABLES = """
USER LOGNAME SHELL PATH LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES TZ
SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
""".split()  # noqa: SIM905 - a list would fill a page
# The CLI contacts only its model, with few retries.
_FIXED_VARIABLES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "TERM": "dumb",
}
_CREDENTIALS_FILE = ".credentials.json"
# The descriptor on which the supervisor passes the secret to its command.
_SECRET_FD = "3"  # noqa: S105 - a descriptor, not a password
# A variable with one of these prefixes, passed on by the operator, configures model access.
_PROVIDER_VARIABLE_PREFIXES = ("ANTHROPIC_", "CLAUDE_CODE_USE_", "AWS_")


def is_installed() -> bool:
    """Return whether Claude Code can run here, without importing the SDK."""
    return find_spec("claude_agent_sdk") is not None and sys.platform != "win32"


def find_program(configured_path: Path | None) -> str | None:
    """Return the CLI's path: as configured, bundled with the SDK, or found on PATH."""
    if configured_path:
        return str(configured_path)
    spec = find_spec("claude_agent_sdk")
    if spec and spec.origin:
        bundled = Path(spec.origin).parent / "_bundled" / "claude"
        if bundled.is_file():
            return str(bundled)
    return shutil.which("claude")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCredentials:
    """The CLI's access to a model.

    A key or token is passed by descriptor, so that the commands the CLI runs do not inherit it in
    their environment.
    """

    api_key: str | None = None
    oauth_token: str | None = None
    base_url: str | None = None
    # Variables that the operator passes on, such as those of a cloud provider.
    extra_environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def secret(self) -> str | None:
        """The key or token to pass by descriptor."""
        return self.api_key or self.oauth_token

    def to_environment(self) -> dict[str, str]:
        """Return the environment variables that configure access to the model.

        Raises:
            AuthenticationError: no credentials are configured.
        """
        variables = {"ANTHROPIC_BASE_URL": self.base_url} if self.base_url else {}
        if self.api_key:
            variables["CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"] = _SECRET_FD
        elif self.oauth_token:
            variables["CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"] = _SECRET_FD
        elif not any(
            name.startswith(_PROVIDER_VARIABLE_PREFIXES) for name in self.extra_environment
        ):
            raise AuthenticationError(
                "Claude Code has no key. Set ANTHROPIC_API_KEY (providers.anthropic.api_key) or "
                "CLAUDE_CODE_OAUTH_TOKEN and start Junto again, or log in with `claude`."
            )
        return {**variables, **self.extra_environment}


def load_oauth_token(environment: Mapping[str, str], now: float) -> str | None:
    """Return the token of the `claude` login on this machine, unless it has expired."""
    config_dir = environment.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    try:
        login = json.loads((Path(config_dir) / _CREDENTIALS_FILE).read_text())["claudeAiOauth"]
        return str(login["accessToken"]) if login["expiresAt"] / 1000 > now else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def build_environment(
    parent_environment: Mapping[str, str],
    credentials: ClaudeCredentials,
    scratch_dir: Path,
    user: "struct_passwd | None",
) -> dict[str, str]:
    """Return the complete environment of the CLI.

    Raises:
        AuthenticationError: no credentials are configured.
    """
    inherited = {
        name: parent_environment[name]
        for name in _INHERITED_VARIABLES
        if name in parent_environment
    }
    if user:
        inherited |= {"USER": user.pw_name, "LOGNAME": user.pw_name}
    return {
        **inherited,
        **_FIXED_VARIABLES,
        # A separate home: shell startup files in ours could set variables that are not allowed.
        "HOME": str(scratch_dir / "home"),
        "GIT_CONFIG_GLOBAL": str(Path.home() / ".gitconfig"),
        "TMPDIR": str(scratch_dir / "tmp"),
        "CLAUDE_CODE_TMPDIR": str(scratch_dir / "tmp"),
        "CLAUDE_CONFIG_DIR": str(scratch_dir / "config"),
        **credentials.to_environment(),
    }


def find_user(name: str | None) -> "struct_passwd | None":
    """Return the account to run the CLI as, or None for the current user.

    Raises:
        KeyError: the user does not exist.
    """
    if name is None:
        return None
    import pwd  # not available on Windows

    return pwd.getpwnam(name)


def list_home_dirs(
    parent_environment: Mapping[str, str], user: "struct_passwd | None"
) -> list[Path]:
    """Return the home directories that may hold credentials."""
    import pwd

    homes = [parent_environment.get("HOME", ""), *([user.pw_dir] if user else [])]
    with contextlib.suppress(KeyError):  # the current uid has no account
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    return [Path(home) for home in dict.fromkeys(homes) if home.startswith("/")]


def to_process_user(user: "struct_passwd") -> ProcessUser:
    """Convert an account to the user, group and supplementary groups of a process."""
    return ProcessUser(user.pw_uid, user.pw_gid, os.getgrouplist(user.pw_name, user.pw_gid))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCommand:
    """The command line of one run of the CLI."""

    options: RunOptions
    roots: Sequence[str]
    session_id: str
    # The session to resume, or to fork if `session_id` differs.
    resume_session_id: str | None = None
    instructions_path: Path | None = None
    # Junto tools that the CLI may call.
    exposed_tool_names: Sequence[str] = ()

    def build_arguments(self) -> list[str]:
        """Return the arguments that follow the program's name.

        Project settings are not loaded: they could name programs to run.
        """
        return [
            "--output-format", "stream-json", "--input-format", "stream-json", "--verbose",
            "--replay-user-messages", "--session-mirror", "--strict-mcp-config",
            "--setting-sources=", "--permission-prompt-tool", "stdio",
            "--permission-mode", self.options.permission_mode,
            *self._iter_session_arguments(),
            *self._iter_option_arguments(),
            *self._iter_mcp_arguments(),
            *(argument for root in self.roots for argument in ("--add-dir", root)),
        ]  # fmt: skip

    def _iter_session_arguments(self) -> Iterator[str]:
        if self.resume_session_id:
            yield f"--resume={self.resume_session_id}"
            if self.resume_session_id == self.session_id:
                return
            yield "--fork-session"
        yield f"--session-id={self.session_id}"

    def _iter_option_arguments(self) -> Iterator[str]:
        options = self.options
        allowed = (
            *options.allowed_tools,
            *(f"mcp__junto__{name}" for name in self.exposed_tool_names),
        )
        values = {
            "--model": options.model,
            "--max-turns": options.max_turns,
            "--max-budget-usd": options.max_budget_usd,
            "--allowedTools": ",".join(allowed) or None,
            "--disallowedTools": ",".join(options.disallowed_tools) or None,
            "--append-system-prompt-file": self.instructions_path,
        }
        for flag, value in values.items():
            if value is not None:
                yield flag
                yield str(value)

    def _iter_mcp_arguments(self) -> Iterator[str]:
        if self.exposed_tool_names:
            servers = {"junto": {"type": "sdk", "name": "junto"}}
            yield "--mcp-config"
            yield json.dumps({"mcpServers": servers})
