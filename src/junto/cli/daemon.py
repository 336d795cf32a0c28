"""`junto start`, `stop`, `restart` and `status`: control of the background server."""

import json
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from junto.cli.terminal_text import print_stderr
from junto.domain.errors import JuntoError
from junto.runtime.daemon_control import DaemonController, is_healthy, is_responding
from junto.runtime.daemon_state import DaemonDir, DaemonInfo
from junto.settings import LoadedSettings, load_settings
from junto.settings.paths import resolve_log_dir, resolve_state_dir
from junto.settings.render import compute_fingerprint
from junto.settings.schema import HttpSettings, Settings
from junto.version import __version__

# The exit code of `systemctl status` for a service that is not running.
_NOT_RUNNING_EXIT_CODE = 3
_PROBE_TIMEOUT_SECONDS = 1.0
_OPTION_BY_SETTING = {"http.host": "--host", "http.port": "--port", "logging.level": "--log-level"}


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Command-line options that are passed on to a background server."""

    flags: Mapping[str, Any]
    config: Path | None

    @classmethod
    def from_flags(cls, config: Path | None, flags: Mapping[str, Any]) -> "StartOptions":
        """Build options from flags, dropping those that were not given."""
        given = {path: value for path, value in flags.items() if value is not None}
        return cls(given, config.absolute() if config else None)

    def inherit_from(self, daemon: DaemonInfo | None) -> "StartOptions":
        """Return these options, completed with those the daemon was started with."""
        if daemon is None:
            return self
        config = self.config or (Path(daemon.config) if daemon.config else None)
        return StartOptions({**daemon.flags, **self.flags}, config)

    def load_settings(self) -> LoadedSettings:
        """Load the settings with these options applied."""
        return load_settings(self.flags, config=self.config, shared=True)

    def build_command(self) -> list[str]:
        """Return the command that starts a server with these options."""
        # -P: otherwise a file in the current directory could shadow one of our modules.
        command = [sys.executable, "-P", "-m", "junto", "serve", "--background"]
        for path, value in self.flags.items():
            command += [_OPTION_BY_SETTING[path], str(value)]
        return command + (["--config", str(self.config)] if self.config else [])


def build_daemon_dir(settings: Settings) -> DaemonDir:
    """Return the directory with the lock and state of the background server."""
    return DaemonDir(resolve_state_dir(settings) / "background")


def get_daemon_log_path(settings: Settings) -> Path:
    """Return the path of the background server's log file."""
    return resolve_log_dir(settings) / "background.log"


def build_daemon_controller(settings: Settings, start_options: StartOptions) -> DaemonController:
    """Return a controller that starts and stops the background server."""
    return DaemonController(
        build_daemon_dir(settings),
        tuple(start_options.build_command()),
        get_daemon_log_path(settings),
    )


def start(settings: Settings, start_options: StartOptions) -> None:
    """Start the background server unless it is running, and print its URL."""
    daemon, was_started = build_daemon_controller(settings, start_options).start()
    if was_started:
        print_stderr(f"Started: Junto {daemon.version} (pid {daemon.pid}).")
    else:
        print_stderr(f"Already running (pid {daemon.pid}).")
        _print_daemon_changes(daemon, start_options)
    click.echo(f"{daemon.url}/mcp")


def stop(settings: Settings, start_options: StartOptions) -> None:
    """Stop the background server after its active calls, and print the outcome."""
    daemon = build_daemon_controller(settings, start_options).stop()
    if daemon is None:
        print_stderr(f"Not running.{_describe_port_holder(settings.http)}")
    else:
        print_stderr(f"Stopped (pid {daemon.pid}).")


def restart(settings: Settings, start_options: StartOptions) -> None:
    """Restart the background server with its previous options, overridden by the given ones."""
    options = start_options.inherit_from(build_daemon_dir(settings).get_status().daemon)
    # Invalid settings raise here, before the running server is stopped.
    before, after = build_daemon_controller(options.load_settings().settings, options).restart()
    stopped = f"Stopped (pid {before.pid})." if before else "It was not running."
    print_stderr(f"{stopped} Started: Junto {after.version} (pid {after.pid}).")
    click.echo(f"{after.url}/mcp")


def print_status(settings: Settings, start_options: StartOptions, *, as_json: bool) -> int:
    """Print the status of the background server and return the exit code."""
    status = build_daemon_dir(settings).get_status()
    daemon = status.daemon
    if daemon is None:
        state = "unsettled" if status.is_running else "stopped"
        facts: dict[str, Any] = {"state": state, "note": _format_note(state, settings.http)}
    else:
        is_well, changes = is_responding(daemon), find_changes(daemon, start_options)
        facts = {
            "state": "running" if is_well else "unsettled",
            "pid": daemon.pid,
            "since": datetime.fromtimestamp(daemon.since, UTC).isoformat(timespec="seconds"),
            "url": f"{daemon.url}/mcp",
            "version": daemon.version,
            "healthy": is_well,
            "log": daemon.log,
            "changed": changes,
        }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        _print_facts(facts)
    return 0 if facts["state"] == "running" else _NOT_RUNNING_EXIT_CODE


def find_changes(daemon: DaemonInfo, start_options: StartOptions) -> list[str]:
    """Return what differs from the running daemon: "version", "configuration" or both."""
    changes = [] if daemon.version == __version__ else ["version"]
    try:
        current = compute_fingerprint(start_options.inherit_from(daemon).load_settings().settings)
    except JuntoError:
        return [*changes, "configuration"]  # it is no longer valid
    return changes if current == daemon.settings else [*changes, "configuration"]


def _print_facts(facts: Mapping[str, Any]) -> None:
    if "pid" not in facts:
        click.echo(facts["note"])
        return
    state = "Running" if facts["healthy"] else "Starting, stopping, or not well"
    click.echo(f"{state} since {facts['since']} (pid {facts['pid']}).")
    click.echo(f"  serves   {facts['url']}")
    click.echo(f"  version  {facts['version']}")
    click.echo(f"  log      {facts['log']}")
    _print_changes(facts["changed"])


def _print_daemon_changes(daemon: DaemonInfo, start_options: StartOptions) -> None:
    _print_changes(find_changes(daemon, start_options))


def _print_changes(changes: list[str]) -> None:
    if changes:
        what = " and ".join(changes)
        verb = "differ" if len(changes) > 1 else "differs"
        print_stderr(f"Its {what} {verb} from yours: `junto restart` to apply.")


def _format_note(state: str, http: HttpSettings) -> str:
    if state == "stopped":
        return f"Not running.{_describe_port_holder(http)}"
    return "A background server is starting or stopping. Look again in a moment."


def _describe_port_holder(http: HttpSettings) -> str:
    """Return a sentence about the program that uses the port, or "" if it is free."""
    address = f"{http.host}:{http.port}"
    try:
        with socket.create_connection(
            (http.host.strip("[]"), http.port), timeout=_PROBE_TIMEOUT_SECONDS
        ):
            pass
    except OSError:
        return ""
    host = f"[{http.host}]" if ":" in http.host else http.host
    is_junto = is_healthy(f"http://{host}:{http.port}", _PROBE_TIMEOUT_SECONDS)
    holder = "a Junto" if is_junto else "a program"
    return f" {address} is held by {holder} not started in the background; it is left alone."
