"""Checks of the tools: the enabled ones, Claude Code, and the MCP servers that Junto uses."""

import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from junto.cli.doctor.checks import CheckContext, Finding, fail, ok, warn
from junto.cli.doctor.configuration import disable_logging
from junto.domain.errors import JuntoError
from junto.settings.enums import ToolAccess
from junto.settings.list_entries import ServerEntry

if TYPE_CHECKING:
    from junto.tools.registry import Registry

_SANDBOX_FIX = (
    "Use Linux 5.13 or newer and allow user namespaces; "
    "docs/explanation/security.md says what holds where."
)
_DEFAULT_PORTS = {"https": 443, "http": 80}


def check_tools(context: CheckContext) -> Iterator[Finding]:
    """Report which tool groups are enabled over each transport."""
    from junto.app.application import build_app
    from junto.app.server import build_server_spec

    for transport, access in (
        ("stdio", ToolAccess.ALL),
        ("HTTP", context.settings.tools.over_http),
    ):
        with build_app(disable_logging(context.loaded), default_level="error") as app:
            yield _summarize_tools(f"over {transport}", build_server_spec(app, access).tools)
    if disabled := context.settings.tools.disabled:
        yield ok("switched off", ", ".join(disabled))


def _summarize_tools(check: str, tools: "Registry") -> Finding:
    groups: Mapping[str, int] = tools.groups
    detail = ", ".join(f"{group} {count}" for group, count in groups.items())
    return ok(check, f"{len(tools.names)} tools: {detail}", tools=tools.names)


def check_sandbox(context: CheckContext) -> Iterator[Finding]:
    """Try what a confined command can do on this machine."""
    from junto.runtime.sandbox_probe import probe_sandbox

    if not context.settings.tools.confine:
        yield warn("sandbox", "switched off (tools.confine)", "Set tools.confine: true.")
        return
    try:
        status = probe_sandbox()
    except (OSError, TimeoutError) as error:
        detail = f"it could not be tried: {getattr(error, 'strerror', None) or error}"
        yield warn("sandbox", detail, _SANDBOX_FIX)
        return
    limits = "a control group" if status.has_control_group else "measuring"
    if status.possible:
        yield warn("sandbox", f"does not prevent {', '.join(status.possible)}", _SANDBOX_FIX)
    else:
        yield ok("sandbox", f"commands are confined; limits are held by {limits}")


def check_agent(context: CheckContext) -> Iterator[Finding]:
    """Check whether Claude Code is installed and has credentials for a model."""
    from junto.agent.claude_cli import find_program, is_installed
    from junto.app.agent import build_credentials

    check, agent_settings = "Claude Code", context.settings.agent
    if not agent_settings.enabled:
        yield ok(check, "switched off (agent.enabled)")
        return
    install_command = "`pip install 'junto[claude-code]'`"
    program = find_program(agent_settings.program) if is_installed() else None
    if program is None and agent_settings.program is None:
        yield ok(
            check, "not installed", f"{install_command} brings it, and the tool claude_code_query."
        )
        return
    if program is None or not Path(program).is_file():
        detail = f"there is no {program}" if program else "not installed, but agent.program is set"
        yield warn(check, detail, f"{install_command}, or correct agent.program.")
        return
    try:
        build_credentials(context.settings).to_environment()
    except JuntoError as error:
        yield warn(check, "installed, but it cannot reach a model", error.message)
    else:
        yield ok(check, program)


def check_servers(context: CheckContext) -> Iterator[Finding]:
    """Check whether the configured MCP servers can be started or reached."""
    for entry in context.settings.servers:
        yield _check_program(entry) if entry.command else _check_connection(context, entry)


def _check_program(entry: ServerEntry) -> Finding:
    path = entry.environment.get("PATH")
    program = shutil.which(entry.command or "", path=path.get_secret_value() if path else None)
    if program is None:
        detail = f"there is no program {entry.command}"
        return fail(
            entry.name, detail, f"Install it, or correct command of {entry.name} in servers."
        )
    return ok(entry.name, f"starts {program}")


def _check_connection(context: CheckContext, entry: ServerEntry) -> Finding:
    address = urlsplit(entry.url or "")
    where = f"{address.hostname}:{address.port or _DEFAULT_PORTS.get(address.scheme, 80)}"
    if not context.online:
        return ok(entry.name, f"at {where}; not tried; --online asks")
    host, _, port = where.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=entry.connect):
            return ok(entry.name, f"reached at {where}")
    except OSError as error:
        detail = f"not reached at {where}: {error.strerror or error}"
        return fail(entry.name, detail, f"Start it, or correct url of {entry.name} in servers.")
