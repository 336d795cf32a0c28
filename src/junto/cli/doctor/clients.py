"""Checks of the MCP clients on this machine: whether each has an entry for this Junto."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from junto.cli.clients.entries import is_junto_entry
from junto.cli.clients.formats import ConfigSyntaxError
from junto.cli.clients.registry import CLIENTS, ClientSpec, InstallScope, Platform
from junto.cli.doctor.checks import CheckContext, Finding, fail, ok, warn

_URL_KEYS = ("url", "httpUrl", "serverUrl")


def check_clients(_context: CheckContext) -> Iterator[Finding]:
    """Check every supported client that is installed on this machine."""
    try:
        platform = Platform.current()
    except FileNotFoundError:
        yield warn("clients", "not looked at: the folder you stand in is gone", "`cd` elsewhere")
        return
    installed = [client for client in CLIENTS if _is_installed(client, platform)]
    if not installed:
        names = ", ".join(client.title for client in CLIENTS)
        yield ok("clients", f"none of those that Junto knows is here: {names}")
    for client in installed:
        yield from _check_client(client, platform)


def _is_installed(client: ClientSpec, platform: Platform) -> bool:
    return client.config_dir(platform).is_dir() or client.user_config_path(platform).is_file()


def _check_client(client: ClientSpec, platform: Platform) -> Iterator[Finding]:
    has_entry = False
    for scope in _iter_scopes(client, platform):
        path = client.config_path(platform, scope)
        try:
            entries = _read_entries(client, path) if path else {}
        except ConfigSyntaxError as error:
            where = f"{path} is broken at line {error.line}, column {error.column}"
            yield fail(
                client.title,
                f"{where}: {error.reason}",
                f"Mend it, then {_format_install_command(client)}",
            )
            return
        except OSError as error:
            yield fail(client.title, f"{path}: {error.strerror}", "Make it readable for you.")
            return
        for name, entry in entries.items():
            has_entry = True
            yield _check_entry(
                client, f"`{name}` in {path}", entry, _format_install_command(client, scope, name)
            )
    if not has_entry:
        yield ok(
            client.title, "is here, without Junto", f"{_format_install_command(client)} adds it."
        )


def _iter_scopes(client: ClientSpec, platform: Platform) -> Iterator[InstallScope]:
    yield "user"
    project = client.config_path(platform, "project")
    # In the user's home directory, both scopes may be the same file.
    if project and project.is_file() and project != client.user_config_path(platform):
        yield "project"


def _read_entries(client: ClientSpec, path: Path) -> Mapping[str, Any]:
    """Return the Junto entries in a client's configuration file.

    Raises:
        ConfigSyntaxError: the file is not valid in its format.
        ConfigEditError: the root of the file is not an object.
    """
    if not path.exists():
        return {}
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigSyntaxError("this is not UTF-8", 1, 1) from None
    servers = client.file_format.parse(text).get(client.section)
    servers = servers if isinstance(servers, dict) else {}
    return {name: entry for name, entry in servers.items() if is_junto_entry(entry)}


def _format_install_command(
    client: ClientSpec, scope: InstallScope = "user", name: str = "junto"
) -> str:
    options = "" if scope == "user" else " --scope project"
    return f"`junto install {client.name}{options}{'' if name == 'junto' else f' --name {name}'}`"


def _check_entry(
    client: ClientSpec, where: str, entry: Mapping[str, Any], install_command: str
) -> Finding:
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return warn(client.title, f"{where} is switched off", "Switch it on in that file.")
    if "command" not in entry:
        url = next(str(entry[name]) for name in _URL_KEYS if name in entry)
        return _check_url(client, where, url, install_command)
    argv = [str(argument) for argument in (entry["command"], *_as_list(entry.get("args")))]
    program = shutil.which(argv[0])
    if program is None:
        detail = f"{where} starts {argv[0]}, which is not there or no program"
        return fail(client.title, detail, f"{install_command} points it here.")
    config = _parse_config_option(argv)
    if config and not config.is_file():
        detail = f"{where} names a configuration that is not there: {config}"
        return fail(client.title, detail, f"{install_command} leaves it out, or takes --config.")
    if not _is_this_installation(program, argv):
        detail = f"{where} starts another Junto: {program}"
        return warn(
            client.title, detail, f"Fine if you mean that one; {install_command} points it here."
        )
    return ok(client.title, f"{where} starts this Junto")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parse_config_option(argv: list[str]) -> Path | None:
    """Return the configuration file that an entry passes to Junto, if any."""
    if "--config" in argv[:-1]:
        return Path(argv[argv.index("--config") + 1]).expanduser()
    return next((Path(argument[9:]) for argument in argv if argument.startswith("--config=")), None)


def _is_this_installation(program: str, argv: list[str]) -> bool:
    """Return whether a program is this installation, as `junto install` would write it."""
    from junto.cli.install import build_command

    commands = [build_command(None)[0]]
    if argv[1:] and "junto" in argv:  # `python -m junto`
        commands.append(sys.executable)
    return any(Path(each).exists() and Path(each).samefile(program) for each in commands)


def _check_url(client: ClientSpec, where: str, url: str, install_command: str) -> Finding:
    from junto.runtime.daemon_control import is_healthy

    address = urlsplit(url)
    url = urlunsplit(address._replace(query="", fragment=""))
    if is_healthy(f"{address.scheme}://{address.netloc}"):
        return ok(client.title, f"{where} connects to {url}, where Junto answers")
    detail = f"{where} connects to {url}, where no Junto answers now"
    fix = f"`junto start`, with the same port; or {install_command} has it start Junto itself."
    return warn(client.title, detail, fix)
