"""The tools that clients see, Claude Code among them, and other servers whose tools are used."""

import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from junto.cli.doctor.configuration import quiet
from junto.cli.doctor.findings import Case, Finding, broken, ok, warning
from junto.domain.errors import JuntoError
from junto.settings.choices import Reach
from junto.settings.entries import ServerEntry

if TYPE_CHECKING:
    from junto.tools.registry import Registry

_PORTS = {"https": 443, "http": 80}


def offered(case: Case) -> Iterator[Finding]:
    """Tell which groups of tools are switched on, over each way in."""
    from junto.app import running

    for way, reach in (("stdio", Reach.ALL), ("HTTP", case.settings.tools.over_http)):
        with running(quiet(case.loaded), default_level="error", reach=reach) as junto:
            yield _told(f"over {way}", junto.surface.tools)
    if off := case.settings.tools.disabled:
        yield ok("switched off", ", ".join(off))


def _told(check: str, tools: "Registry") -> Finding:
    groups: Mapping[str, int] = tools.groups
    detail = ", ".join(f"{group} {count}" for group, count in groups.items())
    return ok(check, f"{len(tools.names)} tools: {detail}", tools=tools.names)


def agent(case: Case) -> Iterator[Finding]:
    """Tell whether Claude Code can be run, and whether it has a way to its model."""
    from junto.agent.program import found, installed
    from junto.app.agent import access_of

    check, chosen = "Claude Code", case.settings.agent
    if not chosen.enabled:
        yield ok(check, "switched off (agent.enabled)")
        return
    install = "`pip install 'junto[claude-code]'`"
    program = found(chosen.program) if installed() else None
    if program is None and chosen.program is None:
        yield ok(check, "not installed", f"{install} brings it, and the tool claude_code_query.")
        return
    if program is None or not Path(program).is_file():
        detail = f"there is no {program}" if program else "not installed, but agent.program is set"
        yield warning(check, detail, f"{install}, or correct agent.program.")
        return
    try:
        access_of(case.settings).variables()
    except JuntoError as error:
        yield warning(check, "installed, but it cannot reach a model", error.message)
    else:
        yield ok(check, program)


def servers(case: Case) -> Iterator[Finding]:
    """Tell whether the other servers can be started, or reached."""
    for entry in case.settings.servers:
        yield _started(entry) if entry.command else _reached(case, entry)


def _started(entry: ServerEntry) -> Finding:
    path = entry.environment.get("PATH")
    program = shutil.which(entry.command or "", path=path.get_secret_value() if path else None)
    if program is None:
        detail = f"there is no program {entry.command}"
        return broken(
            entry.name, detail, f"Install it, or correct command of {entry.name} in servers."
        )
    return ok(entry.name, f"starts {program}")


def _reached(case: Case, entry: ServerEntry) -> Finding:
    address = urlsplit(entry.url or "")
    where = f"{address.hostname}:{address.port or _PORTS.get(address.scheme, 80)}"
    if not case.online:
        return ok(entry.name, f"at {where}; not tried; --online asks")
    host, _, number = where.rpartition(":")
    try:
        with socket.create_connection((host, int(number)), timeout=entry.connect):
            return ok(entry.name, f"reached at {where}")
    except OSError as error:
        detail = f"not reached at {where}: {error.strerror or error}"
        return broken(entry.name, detail, f"Start it, or correct url of {entry.name} in servers.")
