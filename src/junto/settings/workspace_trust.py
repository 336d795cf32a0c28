"""Restrict what a config file found in the working directory may set.

A client may start Junto inside an untrusted repository that contains a `junto.yaml`. Such a file
may change harmless settings, but it must not send the user's keys or data to a host of its choice,
nor grant more access to this machine.
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
from junto.provider_specs.registry import PROVIDER_SPECS
from junto.security.redaction import Redactor

# Hosts that receive the user's keys by default.
_PROVIDER_HOSTS = frozenset(
    urlsplit(spec.base_url).hostname for spec in PROVIDER_SPECS.values() if spec.base_url
)
# Providers whose SDKs discover the user's credentials by themselves.
_CLOUD_PROVIDERS = frozenset(spec.name for spec in PROVIDER_SPECS.values() if spec.is_cloud)
# Settings that grant access to this machine or start programs on it.
_PRIVILEGED_SETTINGS = (
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
# Values of privileged settings that equal the default or are stricter.
_SAFE_VALUES: Mapping[str, tuple[Any, ...]] = {
    "tools.over_http": ("none",),
    "tools.confine": (True, "true"),
    "agent.permission_mode": ("acceptEdits", "default", "plan"),
    "agent.allow_bypass": (False, "false"),
    "agent.confine": (True, "true"),
}
# Settings that decide where prompts or stored data are sent.
_DESTINATION_SETTINGS = ("database.url", "redis.url", "guards.moderation_url")


class UnexpandedVariables(Mapping[str, str]):
    """A mapping from each variable to its own `${NAME}`, to read a file without expansion."""

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
class WorkspaceConfig:
    """An untrusted config file before expansion, and which settings other sources provide."""

    path: Path
    values: Mapping[str, Any]
    paths_set_elsewhere: frozenset[str]
    environment: Mapping[str, str]

    def check(self) -> None:
        """Reject the file if it would leak keys or data, or grant more access to this machine.

        Raises:
            ConfigurationError: it would; the message names the setting, never its value.
        """
        for setting, reason in self._iter_problems():
            raise ConfigurationError(
                f"{self.path}: {setting}: {reason} If you trust this file, name it: "
                f"--config {self.path.name}, or JUNTO_CONFIG."
            )

    def _iter_problems(self) -> Iterator[tuple[str, str]]:
        for setting in _DESTINATION_SETTINGS:
            if setting in self.values and not _is_trusted_url(str(self.values[setting])):
                yield setting, "what you say or keep would be sent there."
        for setting in _PRIVILEGED_SETTINGS:
            if setting in self.values and self._is_escalation(setting, self.values[setting]):
                yield setting, "it would open more of this machine than you have said."
        for setting, value in self.values.items():
            if setting.startswith("providers."):
                yield from self._check_provider(setting, str(value))
            elif setting != "models" and self._has_secret_variable(value):
                yield setting, "a secret of yours would be used there."
        for entry in _iter_model_entries(self.values.get("models")):
            yield from self._check_model_entry(entry)

    def _is_escalation(self, setting: str, value: Any) -> bool:
        """Return whether a value grants access beyond the directory that contains the file."""
        if setting == "tools.roots":
            directories = value.split(",") if isinstance(value, str) else value or ()
            return not all(self._is_inside_workspace(str(each).strip()) for each in directories)
        if setting == "agent.overrides":  # other options cannot exceed the operator's settings
            return bool(re.search(r"\ballowedTools\b|\$", str(value)))
        return value not in (None, [], "", *_SAFE_VALUES.get(setting, ()))

    def _is_inside_workspace(self, directory: str) -> bool:
        # Reject anything that is expanded or parsed later: variables, `~`, lists as text.
        if any(char in directory for char in '${}~[]"'):
            return False
        workspace = self.path.parent.resolve()
        return (workspace / directory).resolve().is_relative_to(workspace)

    def _check_provider(self, setting: str, value: str) -> Iterator[tuple[str, str]]:
        section, _, name = setting.rpartition(".")
        key = f"{section}.api_key"
        if name == "base_url" and not _is_trusted_url(value):
            uses_user_key = key in self.paths_set_elsewhere or "${" in str(self.values.get(key, ""))
            leaks_key = (
                uses_user_key or "${" in value or section.rpartition(".")[2] in _CLOUD_PROVIDERS
            )
            yield (
                setting,
                f"{'a key of yours' if leaks_key else 'what you say'} would be sent there.",
            )
        elif name not in ("base_url", "api_key") and "${" in value:
            yield setting, "a variable of yours would be part of an address."

    def _check_model_entry(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        fields = {name.replace("_", "").lower(): value for name, value in entry.items()}
        location = f"models: {str(fields.get('id'))[:40]}"
        url, key = str(fields.get("baseurl") or ""), str(fields.get("apikey") or "")
        if url and not _is_trusted_url(url):
            leaks_key = "${" in key or "${" in url or fields.get("provider") in _CLOUD_PROVIDERS
            leaked = (
                "a key of yours" if leaks_key else "what you say, and what tools give its model,"
            )
            yield location, f"{leaked} would be sent to its address."
        elif fields.get("provider") in _CLOUD_PROVIDERS and "${" in key:
            yield location, "a key of yours would be sent to its address."
        other_fields = {name: value for name, value in fields.items() if name != "apikey"}
        if self._has_secret_variable(other_fields):
            yield location, "a secret of yours would be used there."

    def _has_secret_variable(self, value: Any) -> bool:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        redactor = Redactor()
        return any(
            f"${{{name}}}" in text and redactor.is_secret(name, variable_value)
            for name, variable_value in self.environment.items()
        )


def _iter_model_entries(models: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(models, str):
        try:
            models = json.loads(models)
        except (ValueError, RecursionError):
            return
    for entry in models if isinstance(models, list) else ():
        if isinstance(entry, dict):
            yield {str(name): value for name, value in entry.items()}


def _is_trusted_url(url: str) -> bool:
    """Return whether a URL points to this machine or to a provider's official host."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if parts.scheme == "https" and host in _PROVIDER_HOSTS:
        return True
    if "host" in unquote(parts.query).lower():  # libpq accepts `?host=` to override the server
        return False
    if host == "localhost":
        return True
    if not host and parts.scheme in ("unix", "postgresql", "postgres") and "host=" not in url:
        return True  # a Unix socket
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
