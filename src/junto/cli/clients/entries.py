"""Server entries in a client's configuration: recognizing, adding and removing Junto's own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from junto.cli.clients.formats import ConfigEditError, ConfigFormat

_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_URL_KEYS = ("url", "httpUrl", "serverUrl")


@dataclass(frozen=True, slots=True)
class McpServerEntry:
    """A server entry: the keys Junto requires, and defaults that users may change."""

    required: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the complete entry."""
        return {**self.required, **self.defaults}


def is_junto_entry(entry: Any) -> bool:
    """Return whether an entry starts any Junto, or connects to one on this machine."""
    if not isinstance(entry, dict):
        return False
    argv = [str(word) for word in (entry.get("command", ""), *_as_list(entry.get("args")))]
    if any(
        _parse_program_name(word) == "junto" and following == "mcp"
        for word, following in pairwise(argv)
    ):
        return True
    url = next((entry[name] for name in _URL_KEYS if isinstance(entry.get(name), str)), "")
    try:
        return urlsplit(url).hostname in _LOOPBACK_HOSTS and urlsplit(url).path == "/mcp"
    except ValueError:
        return False


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parse_program_name(word: str) -> str:
    path_type = PureWindowsPath if "\\" in word else PurePosixPath
    return re.sub(r"\.(exe|cmd)\Z", "", path_type(word).name, flags=re.IGNORECASE)


def add_entry(
    file_format: ConfigFormat, text: str, section: str, name: str, entry: McpServerEntry
) -> str:
    """Return `text` with Junto's entry; keys that users added to an earlier one are preserved.

    Raises:
        ConfigEditError: the name belongs to another server, or the text cannot be edited.
    """
    servers = _read_servers(file_format, text, section)
    for other, each in servers.items():
        if other != name and each == entry.to_dict():
            # An unchanged entry that Junto added under an earlier name.
            text = file_format.remove_value(text, (section, other))
    old = servers.get(name)
    if old is None:
        return file_format.set_value(text, (section, name), entry.to_dict())
    _require_junto_entry(old, name)
    if ("command" in old) != ("command" in entry.required):
        return file_format.set_value(text, (section, name), entry.to_dict())
    for key, value in entry.required.items():
        if key != "args" or not _has_extra_arguments(old.get("args"), value):
            text = file_format.set_value(text, (section, name, key), value)
    for key, value in entry.defaults.items():
        if key not in old:
            text = file_format.set_value(text, (section, name, key), value)
    return text


def _has_extra_arguments(old: Any, new: list[str]) -> bool:
    """Return whether the old arguments are the new ones, with or without additions."""
    return isinstance(old, list) and old[: len(new)] == new


def remove_entry(file_format: ConfigFormat, text: str, section: str, name: str) -> str:
    """Return `text` without Junto's entry, if there is one.

    Raises:
        ConfigEditError: the name belongs to another server, or the text cannot be edited.
    """
    old = _read_servers(file_format, text, section).get(name)
    if old is None:
        return text
    _require_junto_entry(old, name)
    return file_format.remove_value(text, (section, name))


def _read_servers(file_format: ConfigFormat, text: str, section: str) -> Mapping[str, Any]:
    servers = file_format.parse(text).get(section, {})
    if not isinstance(servers, dict):
        raise ConfigEditError(f"`{section}` in it does not hold servers by their names")
    return servers


def _require_junto_entry(entry: Any, name: str) -> None:
    if not is_junto_entry(entry):
        raise ConfigEditError(
            f"`{name}` in it is another server, no Junto on this machine; --name tells ours apart"
        )
