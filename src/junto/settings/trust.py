"""What a file may do that nobody named, but that merely lay in the working directory.

A client may start Junto inside a stranger's repository, and read a `junto.yaml` that came with it.
Such a file may set what it likes, but it may not send the user's keys to an address of its own.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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


class Watched(Mapping[str, str]):
    """Variables that remember which secrets were asked for."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._shapes = Redactor()
        self.secrets: list[str] = []

    @override
    def __getitem__(self, name: str) -> str:
        value = self._variables[name]
        if self._shapes.is_secret(name, value):
            self.secrets.append(name)
        return value

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    @override
    def __len__(self) -> int:
        return len(self._variables)


def check(path: Path, values: Mapping[str, Any], used: list[str], elsewhere: set[str]) -> None:
    """Refuse a file that would send keys away; `used` are secrets that it names.

    `elsewhere` are the paths of settings that other sources give.

    Raises:
        ConfigurationError: it would.
    """
    for setting, url in _addresses(values):
        host = _host(url)
        if host is None or host in _USUAL:
            continue
        key = setting.replace(".base_url", ".api_key")
        if used or (key in elsewhere and key != setting):
            whose = f"${{{used[0]}}}" if used else key
            raise ConfigurationError(
                f"{path}: {setting} leads to {host}, and {whose} would be sent there. If you trust "
                f"this file, name it: --config {path.name}, or JUNTO_CONFIG."
            )


def _addresses(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for setting, value in values.items():
        if setting.endswith(".base_url"):
            yield setting, str(value)
    entries = values.get("models")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield from (("models", str(entry[k])) for k in ("base_url", "baseUrl") if k in entry)


def _host(url: str) -> str | None:
    """Return the host that an address leads to, unless that is this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return url[:80]
    if host == "localhost":
        return None
    try:
        return None if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return host
