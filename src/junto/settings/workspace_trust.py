"""What a file may do that nobody named, but that merely lay in the working directory.

A client may start Junto inside a stranger's repository, and read a `junto.yaml` that came with it.
Such a file may set what it likes, but it may not send the user's keys, or what they keep, to an
address of its own, nor let anybody do more on this machine.
"""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from junto.domain.errors import ConfigurationError
from junto.security.secrets import Redactor

# Where keys go anyway.
_USUAL = frozenset(
    {
        "api.anthropic.com",
        "api.openai.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
    }
)
# These find credentials of the user by themselves.
_CLOUDS = ("bedrock", "vertex")
# These open more of this machine, or start programs on it.
_POWERS = (
    "tools.roots",
    "tools.commands",
    "tools.over_http",
    "tools.confine",
    "tools.command_environment",
    "servers",
    "state_directory",
    "logging.directory",
    "agent.cwd",
    "agent.permission_mode",
    "agent.allowed_tools",
    "agent.overrides",
    "agent.allow_bypass",
    "agent.user",
    "agent.program",
    "agent.environment",
    "agent.confine",
    "agent.writable",
    "http.allowed_hosts",
    "http.allowed_origins",
    "embedded.model",
)
# What changes nothing, since it is so anyway, or allows less.
_AS_IT_IS: Mapping[str, tuple[Any, ...]] = {
    "tools.over_http": ("none",),
    "tools.confine": (True, "true"),
    "agent.permission_mode": ("acceptEdits", "default", "plan"),
    "agent.allow_bypass": (False, "false"),
    "agent.confine": (True, "true"),
}
# What is said or kept goes there.
_STORES = ("database.url", "redis.url", "guards.moderation_url")


class Unfilled(Mapping[str, str]):
    """Variables that stand for themselves, so that a file can be looked at as it was written."""

    @override
    def __getitem__(self, name: str) -> str:
        return f"${{{name}}}"

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(())

    @override
    def __len__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was written, and the settings that other sources give."""

    path: Path
    values: Mapping[str, Any]
    elsewhere: frozenset[str]
    variables: Mapping[str, str]

    def check(self) -> None:
        """Refuse the file if it would send away what is not its own.

        Raises:
            ConfigurationError: it would; the message says where, and never what.
        """
        for setting, reason in self._problems():
            raise ConfigurationError(
                f"{self.path}: {setting}: {reason} If you trust this file, name it: "
                f"--config {self.path.name}, or JUNTO_CONFIG."
            )

    def _problems(self) -> Iterator[tuple[str, str]]:
        for setting in _STORES:
            if setting in self.values and not _harmless(str(self.values[setting])):
                yield setting, "what you say or keep would be sent there."
        for setting in _POWERS:
            if setting in self.values and self._opens(setting, self.values[setting]):
                yield setting, "it would open more of this machine than you have said."
        for setting, value in self.values.items():
            if setting.startswith("providers."):
                yield from self._provider(setting, str(value))
            elif setting != "models" and self._uses_secret(value):
                yield setting, "a secret of yours would be used there."
        for entry in _entries(self.values.get("models")):
            yield from self._entry(entry)

    def _opens(self, setting: str, value: Any) -> bool:
        """Return whether a value opens more than the folder in which the file lies."""
        if setting == "tools.roots":
            folders = value.split(",") if isinstance(value, str) else value or ()
            return not all(self._is_here(str(folder).strip()) for folder in folders)
        if setting == "agent.overrides":  # the others are held to what the operator has set
            return bool(re.search(r"\ballowedTools\b|\$", str(value)))
        return value not in (None, [], "", *_AS_IT_IS.get(setting, ()))

    def _is_here(self, folder: str) -> bool:
        # What could be read in two ways is not looked at twice: variables, homes, lists as text.
        if any(mark in folder for mark in '${}~[]"'):
            return False
        here = self.path.parent.resolve()
        return (here / folder).resolve().is_relative_to(here)

    def _provider(self, setting: str, value: str) -> Iterator[tuple[str, str]]:
        branch, _, name = setting.rpartition(".")
        key = f"{branch}.api_key"
        if name == "base_url" and not _harmless(value):
            borrowed = key in self.elsewhere or "${" in str(self.values.get(key, ""))
            sent = borrowed or "${" in value or branch.rpartition(".")[2] in _CLOUDS
            yield setting, f"{'a key of yours' if sent else 'what you say'} would be sent there."
        elif name not in ("base_url", "api_key") and "${" in value:
            yield setting, "a variable of yours would be part of an address."

    def _entry(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        facts = {name.replace("_", "").lower(): value for name, value in entry.items()}
        where = f"models: {str(facts.get('id'))[:40]}"
        url, key = str(facts.get("baseurl") or ""), str(facts.get("apikey") or "")
        if url and not _harmless(url):
            sent = "${" in key or "${" in url or facts.get("provider") in _CLOUDS
            what = "a key of yours" if sent else "what you say, and what tools give its model,"
            yield where, f"{what} would be sent to its address."
        elif facts.get("provider") in _CLOUDS and "${" in key:
            yield where, "a key of yours would be sent to its address."
        others = {name: value for name, value in facts.items() if name != "apikey"}
        if self._uses_secret(others):
            yield where, "a secret of yours would be used there."

    def _uses_secret(self, value: Any) -> bool:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        shapes = Redactor()
        return any(
            f"${{{name}}}" in text and shapes.is_secret(name, held)
            for name, held in self.variables.items()
        )


def _entries(models: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(models, str):
        try:
            models = json.loads(models)
        except (ValueError, RecursionError):
            return
    for entry in models if isinstance(models, list) else ():
        if isinstance(entry, dict):
            yield {str(name): value for name, value in entry.items()}


def _harmless(url: str) -> bool:
    """Return whether an address is this machine's, or where keys go anyway."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if parts.scheme == "https" and host in _USUAL:
        return True
    if "host" in unquote(parts.query).lower():  # a database's own way to name another server
        return False
    if host == "localhost":
        return True
    if not host and parts.scheme in ("unix", "postgresql", "postgres") and "host=" not in url:
        return True  # a socket
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
