"""The clients on this machine: whether each has Junto, and whether its entry leads to this one."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from junto.cli.clients.entries import is_ours
from junto.cli.clients.forms import UnreadableError
from junto.cli.clients.known import CLIENTS, Client, Scope
from junto.cli.clients.machine import Machine
from junto.cli.doctor.findings import Case, Finding, broken, ok, warning

_URLS = ("url", "httpUrl", "serverUrl")


def configured(_case: Case) -> Iterator[Finding]:
    """Look at every client that is on this machine."""
    try:
        machine = Machine.here()
    except FileNotFoundError:
        yield warning("clients", "not looked at: the folder you stand in is gone", "`cd` elsewhere")
        return
    here = [client for client in CLIENTS if _is_here(client, machine)]
    if not here:
        names = ", ".join(client.title for client in CLIENTS)
        yield ok("clients", f"none of those that Junto knows is here: {names}")
    for client in here:
        yield from _client(client, machine)


def _is_here(client: Client, machine: Machine) -> bool:
    return client.home(machine).is_dir() or client.user(machine).is_file()


def _client(client: Client, machine: Machine) -> Iterator[Finding]:
    found = False
    for scope in _scopes(client, machine):
        file = client.file(machine, scope)
        try:
            entries = _entries(client, file) if file else {}
        except UnreadableError as error:
            where = f"{file} is broken at line {error.line}, column {error.column}"
            yield broken(
                client.title, f"{where}: {error.reason}", f"Mend it, then {_install(client)}"
            )
            return
        except OSError as error:
            yield broken(client.title, f"{file}: {error.strerror}", "Make it readable for you.")
            return
        for name, entry in entries.items():
            found = True
            yield _entry(client, f"`{name}` in {file}", entry, _install(client, scope, name))
    if not found:
        yield ok(client.title, "is here, without Junto", f"{_install(client)} adds it.")


def _scopes(client: Client, machine: Machine) -> Iterator[Scope]:
    yield "user"
    project = client.file(machine, "project")
    # In the home of a user both may be the same file.
    if project and project.is_file() and project != client.user(machine):
        yield "project"


def _entries(client: Client, file: Path) -> Mapping[str, Any]:
    """Return our entries in a client's file.

    Raises:
        UnreadableError: it is no valid file of its form.
    """
    if not file.exists():
        return {}
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError("this is not UTF-8", 1, 1) from None
    servers = client.form.read(text).get(client.section)
    servers = servers if isinstance(servers, dict) else {}
    return {name: entry for name, entry in servers.items() if is_ours(entry)}


def _install(client: Client, scope: Scope = "user", name: str = "junto") -> str:
    options = "" if scope == "user" else " --scope project"
    return f"`junto install {client.name}{options}{'' if name == 'junto' else f' --name {name}'}`"


def _entry(client: Client, where: str, entry: Mapping[str, Any], install: str) -> Finding:
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return warning(client.title, f"{where} is switched off", "Switch it on in that file.")
    if "command" not in entry:
        url = next(str(entry[name]) for name in _URLS if name in entry)
        return _address(client, where, url, install)
    words = [str(word) for word in (entry["command"], *_listed(entry.get("args")))]
    program = shutil.which(words[0])
    if program is None:
        detail = f"{where} starts {words[0]}, which is not there or no program"
        return broken(client.title, detail, f"{install} points it here.")
    config = _named(words)
    if config and not config.is_file():
        detail = f"{where} names a configuration that is not there: {config}"
        return broken(client.title, detail, f"{install} leaves it out, or takes --config.")
    if not _is_this(program, words):
        detail = f"{where} starts another Junto: {program}"
        return warning(
            client.title, detail, f"Fine if you mean that one; {install} points it here."
        )
    return ok(client.title, f"{where} starts this Junto")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _named(words: list[str]) -> Path | None:
    """Return the file that an entry has its Junto read."""
    if "--config" in words[:-1]:
        return Path(words[words.index("--config") + 1]).expanduser()
    return next((Path(word[9:]) for word in words if word.startswith("--config=")), None)


def _is_this(program: str, words: list[str]) -> bool:
    """Tell whether a program is this very one, as `junto install` would name it."""
    from junto.cli.install import command

    ours = [command(None)[0]]
    if words[1:] and "junto" in words:  # `python -m junto`
        ours.append(sys.executable)
    return any(Path(each).exists() and Path(each).samefile(program) for each in ours)


def _address(client: Client, where: str, url: str, install: str) -> Finding:
    from junto.work.launching import health_at

    address = urlsplit(url)
    url = urlunsplit(address._replace(query="", fragment=""))
    if health_at(f"{address.scheme}://{address.netloc}"):
        return ok(client.title, f"{where} connects to {url}, where Junto answers")
    detail = f"{where} connects to {url}, where no Junto answers now"
    fix = f"`junto start`, with the same port; or {install} has it start Junto itself."
    return warning(client.title, detail, fix)
