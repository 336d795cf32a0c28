"""An entry among a client's servers: whether it is ours, and how it comes in and goes out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from junto.cli.clients.forms import Form, UnchangeableError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_URLS = ("url", "httpUrl", "serverUrl")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a client is told: what it must say, and what it says at first and anybody may change."""

    must: Mapping[str, Any]
    may: Mapping[str, Any] = field(default_factory=dict)

    def whole(self) -> dict[str, Any]:
        """Return all of it."""
        return {**self.must, **self.may}


def is_ours(entry: Any) -> bool:
    """Tell whether an entry starts a Junto, wherever that is, or connects to one right here."""
    if not isinstance(entry, dict):
        return False
    words = [str(word) for word in (entry.get("command", ""), *_listed(entry.get("args")))]
    if any(_program(word) == "junto" and then == "mcp" for word, then in pairwise(words)):
        return True
    url = next((entry[name] for name in _URLS if isinstance(entry.get(name), str)), "")
    try:
        return urlsplit(url).hostname in _LOOPBACK and urlsplit(url).path == "/mcp"
    except ValueError:
        return False


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _program(word: str) -> str:
    kind = PureWindowsPath if "\\" in word else PurePosixPath
    return re.sub(r"\.(exe|cmd)\Z", "", kind(word).name, flags=re.IGNORECASE)


def installed(form: Form, text: str, section: str, name: str, entry: Entry) -> str:
    """Return `text` with our entry; what somebody has added to an earlier one of ours stays.

    Raises:
        UnchangeableError: the name is another server's, or the text does not allow it.
    """
    servers = _servers(form, text, section)
    for other, each in servers.items():
        if other != name and each == entry.whole():
            text = form.take(text, (section, other))  # ours under an earlier name, and nothing else
    old = servers.get(name)
    if old is None:
        return form.put(text, (section, name), entry.whole())
    _must_be_ours(old, name)
    if ("command" in old) != ("command" in entry.must):
        return form.put(text, (section, name), entry.whole())
    for key, value in entry.must.items():
        if key != "args" or not _says_more(old.get("args"), value):
            text = form.put(text, (section, name, key), value)
    for key, value in entry.may.items():
        if key not in old:
            text = form.put(text, (section, name, key), value)
    return text


def _says_more(old: Any, new: list[str]) -> bool:
    """Tell whether somebody has added words to the ones that we would write."""
    return isinstance(old, list) and old[: len(new)] == new


def uninstalled(form: Form, text: str, section: str, name: str) -> str:
    """Return `text` without our entry, if it is there.

    Raises:
        UnchangeableError: the name is another server's, or the text does not allow it.
    """
    old = _servers(form, text, section).get(name)
    if old is None:
        return text
    _must_be_ours(old, name)
    return form.take(text, (section, name))


def _servers(form: Form, text: str, section: str) -> Mapping[str, Any]:
    servers = form.read(text).get(section, {})
    if not isinstance(servers, dict):
        raise UnchangeableError(f"`{section}` in it does not hold servers by their names")
    return servers


def _must_be_ours(entry: Any, name: str) -> None:
    if not is_ours(entry):
        raise UnchangeableError(
            f"`{name}` in it is another server, no Junto on this machine; --name tells ours apart"
        )
