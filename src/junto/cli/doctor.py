"""`junto doctor`: the checks, one line each, with the fix."""

import errno
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from junto import __version__
from junto.app.models import catalog_of
from junto.domain.errors import JuntoError
from junto.settings import Loaded
from junto.settings.choices import LogOutput
from junto.settings.places import log_directory, state_directory
from junto.settings.tree import Settings

_ROUND_TRIP_SECONDS = 30
_COLOURS = {"ok": "green", "warning": "yellow", "broken": "red"}
_MARKS = {"ok": "✓", "warning": "!", "broken": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and what to do about it."""

    check: str
    state: Literal["ok", "warning", "broken"]
    detail: str
    fix: str = ""


def examine(load: Callable[[], Loaded], config: Path | None = None, *, as_json: bool) -> int:
    """Run every check and print what it found; return the exit code."""
    findings = []
    for finding in _findings(load, config):
        findings.append(finding)
        if not as_json:
            _tell(finding)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    return int(any(finding.state == "broken" for finding in findings))


def _tell(finding: Finding) -> None:
    mark = click.style(_MARKS[finding.state], fg=_COLOURS[finding.state])
    click.echo(f"{mark} {finding.check}: {finding.detail}")
    if finding.fix:
        click.echo(f"    {finding.fix}")


def _findings(load: Callable[[], Loaded], config: Path | None) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", "ok", f"{version}, Junto {__version__}")
    try:
        loaded = load()
    except JuntoError as error:
        yield Finding("configuration", "broken", error.message, "Mend it, then run this again.")
        return
    yield from _configuration(loaded)
    settings = loaded.settings
    yield _models(settings)
    yield _agent(settings)
    yield _writable("state", state_directory(settings), "state_directory")
    if settings.logging.output in (LogOutput.FILES, LogOutput.BOTH):
        yield _writable("logs", log_directory(settings), "logging.directory")
    yield _port(settings.http.host, settings.http.port)
    yield _round_trip(config)


def _configuration(loaded: Loaded) -> Iterator[Finding]:
    files = ", ".join(str(path) for path in loaded.files) or "no file, defaults and environment"
    yield Finding("configuration", "ok", files)
    for warning in loaded.warnings:
        yield Finding("configuration", "warning", warning, "Take it out, or correct its name.")


def _models(settings: Settings) -> Finding:
    """Look at what can be asked, and whether the default is among it."""
    try:
        catalog = catalog_of(settings, state_directory(settings))
        default = catalog.find().id
    except JuntoError as error:
        return Finding("models", "broken", error.message, "Set default_model, a key, or models.")
    offers = catalog.offers()
    if offers.get(default) == catalog.embedded:
        detail = f"only the embedded model {default}: it answers, but it is small"
        fix = "Set the key of a provider, such as ANTHROPIC_API_KEY, for more."
        return Finding("models", "warning", detail, fix)
    return Finding("models", "ok", f"{len(offers)} can be asked, {default} is the default")


def _agent(settings: Settings) -> Finding:
    """Look whether Claude Code can be run, and whether it has a way to its model."""
    from junto.agent.program import found, installed
    from junto.app.agent import access_of

    check, chosen = "Claude Code", settings.agent
    if not chosen.enabled:
        return Finding(check, "ok", "switched off (agent.enabled)")
    program = found(chosen.program) if installed() else None
    if program is None or not Path(program).is_file():
        fix = "Install it with `pip install 'junto[claude-code]'`, or set agent.program."
        return Finding(check, "warning", "not installed, so claude_code_query is absent", fix)
    try:
        access_of(settings).variables()
    except JuntoError as error:
        return Finding(check, "warning", "installed, but it cannot reach a model", error.message)
    return Finding(check, "ok", program)


def _writable(check: str, directory: Path, setting: str) -> Finding:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return Finding(check, "ok", str(directory))
    except OSError as error:
        return Finding(
            check,
            "broken",
            f"{directory}: {error.strerror}",
            f"Make it writable, or choose another with {setting}.",
        )


def _port(host: str, port: int) -> Finding:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                detail = f"{host}:{port} cannot be had: {error.strerror}"
                return Finding("port", "broken", detail, "Set http.host to 127.0.0.1.")
            return Finding(
                "port",
                "warning",
                f"{host}:{port} {_holder(host, port)}",
                "Fine if that is Junto; otherwise use --port, or http.port in the file.",
            )
    return Finding("port", "ok", f"{host}:{port} is free")


def _holder(host: str, port: int) -> str:
    """Ask whoever holds the port whether it is Junto."""
    import http.client

    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=2)
    try:
        connection.request("GET", "/health")
        report = json.loads(connection.getresponse().read(10_000))
        return f"is held by Junto {report['version']}"
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return "is held by another program"
    finally:
        connection.close()


def _round_trip(config: Path | None) -> Finding:
    """Start `junto mcp` as a client would, and ask it for its tools."""
    question = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'
    chosen = ["--config", str(config)] if config else []
    command = [sys.executable, "-P", "-m", "junto", "mcp", *chosen]
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            command,
            input=question,
            capture_output=True,
            timeout=_ROUND_TRIP_SECONDS,
            check=False,
        )
        tools = json.loads(done.stdout)["result"]["tools"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
        return Finding(
            "stdio",
            "broken",
            "`junto mcp` did not answer",
            "Run `junto mcp --log-level debug` and read what it says on standard error.",
        )
    return Finding("stdio", "ok", f"`junto mcp` answers with {len(tools)} tools")
