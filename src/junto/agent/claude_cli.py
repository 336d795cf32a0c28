"""The program: where it is, how it is called, and the little that it gets of our environment."""

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

from junto.agent.options import Options
from junto.domain.errors import AuthenticationError
from junto.work.processes import User

if TYPE_CHECKING:
    from pwd import struct_passwd

# What programs need to find themselves at home. Of these only a proxy's address may hold a
# password, and without it there would be no way out.
_KEPT = """
USER LOGNAME SHELL PATH LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES TZ
SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
""".split()  # noqa: SIM905 - as a list it would be a page
# It talks to nobody but its model, and gives up on that one soon.
_ALWAYS = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "TERM": "dumb",
}
_CREDENTIALS = ".credentials.json"
# Where a keeper puts what is meant for its command alone.
_HANDED_OVER = "3"
# Any of these, if the operator passes it on, says how to get at a model.
_OTHER_WAYS = ("ANTHROPIC_", "CLAUDE_CODE_USE_", "AWS_")


def installed() -> bool:
    """Tell whether Claude Code can be run at all, without importing anything."""
    return find_spec("claude_agent_sdk") is not None and sys.platform != "win32"


def found(program: Path | None) -> str | None:
    """Return where the program is: where the operator says, with the SDK, or on the path."""
    if program:
        return str(program)
    spec = find_spec("claude_agent_sdk")
    if spec and spec.origin:
        bundled = Path(spec.origin).parent / "_bundled" / "claude"
        if bundled.is_file():
            return str(bundled)
    return shutil.which("claude")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How it gets at its model: a key or a token, which no variable shows to what it runs."""

    key: str | None = None
    token: str | None = None
    base_url: str | None = None
    # Variables that the operator passes on, such as those of a cloud.
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def secret(self) -> str | None:
        """Return what is handed over by a descriptor."""
        return self.key or self.token

    def variables(self) -> dict[str, str]:
        """Return what the program must know to use it.

        Raises:
            AuthenticationError: there is no way to any model.
        """
        named = {"ANTHROPIC_BASE_URL": self.base_url} if self.base_url else {}
        if self.key:
            named["CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"] = _HANDED_OVER
        elif self.token:
            named["CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"] = _HANDED_OVER
        elif not any(name.startswith(_OTHER_WAYS) for name in self.environment):
            raise AuthenticationError(
                "Claude Code has no key. Set ANTHROPIC_API_KEY (providers.anthropic.api_key) or "
                "CLAUDE_CODE_OAUTH_TOKEN and start Junto again, or log in with `claude`."
            )
        return {**named, **self.environment}


def login_of(environment: Mapping[str, str], now: float) -> str | None:
    """Return the token of whoever has logged in with `claude` on this machine, while it lasts."""
    folder = environment.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    try:
        login = json.loads((Path(folder) / _CREDENTIALS).read_text())["claudeAiOauth"]
        return str(login["accessToken"]) if login["expiresAt"] / 1000 > now else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def environment(
    ours: Mapping[str, str], access: Access, folder: Path, user: "struct_passwd | None"
) -> dict[str, str]:
    """Return all that the program gets of variables.

    Raises:
        AuthenticationError: there is no way to any model.
    """
    mine = {name: ours[name] for name in _KEPT if name in ours}
    if user:
        mine |= {"USER": user.pw_name, "LOGNAME": user.pw_name}
    return {
        **mine,
        **_ALWAYS,
        # A home of its own: what a shell reads in ours sets variables that nobody has allowed.
        "HOME": str(folder / "home"),
        "GIT_CONFIG_GLOBAL": str(Path.home() / ".gitconfig"),
        "TMPDIR": str(folder / "tmp"),
        "CLAUDE_CODE_TMPDIR": str(folder / "tmp"),
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        **access.variables(),
    }


def user_named(name: str | None) -> "struct_passwd | None":
    """Return the account that runs the program, if it is another one than ours.

    Raises:
        KeyError: there is no such user.
    """
    if name is None:
        return None
    import pwd  # Windows has none

    return pwd.getpwnam(name)


def homes(ours: Mapping[str, str], user: "struct_passwd | None") -> list[Path]:
    """Return the folders in which people keep their keys."""
    import pwd

    named = [ours.get("HOME", ""), *([user.pw_dir] if user else [])]
    with contextlib.suppress(KeyError):  # somebody without an account
        named.append(pwd.getpwuid(os.geteuid()).pw_dir)
    return [Path(name) for name in dict.fromkeys(named) if name.startswith("/")]


def becoming(user: "struct_passwd") -> User:
    """Return who to become."""
    return User(user.pw_uid, user.pw_gid, os.getgrouplist(user.pw_name, user.pw_gid))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What the program is called for."""

    options: Options
    roots: Sequence[str]
    session: str
    # The session that it goes on with, or branches off from.
    resumed: str | None = None
    instructions: Path | None = None
    # Our own tools that it may use.
    consulting: Sequence[str] = ()

    def arguments(self) -> list[str]:
        """Return the words that follow the program's name.

        A project's own settings are not read: they could name programs to run.
        """
        return [
            "--output-format", "stream-json", "--input-format", "stream-json", "--verbose",
            "--replay-user-messages", "--session-mirror", "--strict-mcp-config",
            "--setting-sources=", "--permission-prompt-tool", "stdio",
            "--permission-mode", self.options.permission_mode,
            *self._of_session(), *self._of_options(), *self._of_consulting(),
            *(word for root in self.roots for word in ("--add-dir", root)),
        ]  # fmt: skip

    def _of_session(self) -> Iterator[str]:
        if self.resumed:
            yield f"--resume={self.resumed}"
            if self.resumed == self.session:
                return
            yield "--fork-session"
        yield f"--session-id={self.session}"

    def _of_options(self) -> Iterator[str]:
        options = self.options
        allowed = (*options.allowed_tools, *(f"mcp__junto__{name}" for name in self.consulting))
        values = {
            "--model": options.model,
            "--max-turns": options.max_turns,
            "--max-budget-usd": options.max_budget_usd,
            "--allowedTools": ",".join(allowed) or None,
            "--disallowedTools": ",".join(options.disallowed_tools) or None,
            "--append-system-prompt-file": self.instructions,
        }
        for flag, value in values.items():
            if value is not None:
                yield flag
                yield str(value)

    def _of_consulting(self) -> Iterator[str]:
        if self.consulting:
            servers = {"junto": {"type": "sdk", "name": "junto"}}
            yield "--mcp-config"
            yield json.dumps({"mcpServers": servers})
