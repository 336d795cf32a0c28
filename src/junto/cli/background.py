"""`junto start`, `stop`, `restart` and `status`."""

import json
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from junto import __version__
from junto.cli.writing import say
from junto.domain.errors import JuntoError
from junto.settings import Loaded, load
from junto.settings.fingerprints import fingerprint
from junto.settings.places import log_directory, state_directory
from junto.settings.tree import Http, Settings
from junto.work.background import Place, Server
from junto.work.launching import Launcher, answers, health_at

# As systemd has it: the question was understood, and the answer is no.
_NOT_RUNNING = 3
_STRANGER_SECONDS = 1.0
_WORDS = {"http.host": "--host", "http.port": "--port", "logging.level": "--log-level"}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was said on the command line, which a server that is started is told as well."""

    flags: Mapping[str, Any]
    config: Path | None

    @classmethod
    def of(cls, config: Path | None, flags: Mapping[str, Any]) -> "Wishes":
        """Return what was said, without what was not."""
        given = {path: value for path, value in flags.items() if value is not None}
        return cls(given, config.absolute() if config else None)

    def after(self, server: Server | None) -> "Wishes":
        """Return these, and for what they leave open those that `server` was started with."""
        if server is None:
            return self
        config = self.config or (Path(server.config) if server.config else None)
        return Wishes({**server.flags, **self.flags}, config)

    def loaded(self) -> Loaded:
        """Return the settings that they lead to."""
        return load(self.flags, config=self.config)

    def command(self) -> list[str]:
        """Return the command that starts a server with them."""
        # -P: or a file in the folder of whoever starts it would pass for one of our modules.
        words = [sys.executable, "-P", "-m", "junto", "serve", "--background"]
        for path, value in self.flags.items():
            words += [_WORDS[path], str(value)]
        return words + (["--config", str(self.config)] if self.config else [])


def place_of(settings: Settings) -> Place:
    """Return where the background server of these settings is found."""
    return Place(state_directory(settings) / "background")


def log_of(settings: Settings) -> Path:
    """Return the file that has the words of the background server."""
    return log_directory(settings) / "background.log"


def launcher_of(settings: Settings, wishes: Wishes) -> Launcher:
    """Return what starts and stops the background server."""
    return Launcher(place_of(settings), tuple(wishes.command()), log_of(settings))


def start(settings: Settings, wishes: Wishes) -> None:
    """Start the server, unless it runs, and say where it serves."""
    server, fresh = launcher_of(settings, wishes).start()
    if fresh:
        say(f"Started: Junto {server.version} (pid {server.pid}).")
    else:
        say(f"Already running (pid {server.pid}).")
        _say_what_changed(server, wishes)
    click.echo(f"{server.url}/mcp")


def stop(settings: Settings, wishes: Wishes) -> None:
    """Let the server finish what it does, and say what became of it."""
    server = launcher_of(settings, wishes).stop()
    if server is None:
        say(f"Not running.{_stranger(settings.http)}")
    else:
        say(f"Stopped (pid {server.pid}).")


def restart(settings: Settings, wishes: Wishes) -> None:
    """Stop the server, if it runs, and start it as it was started, or as is said now."""
    wanted = wishes.after(place_of(settings).look().server)
    # What cannot be started again is not stopped.
    before, after = launcher_of(wanted.loaded().settings, wanted).restart()
    told = f"Stopped (pid {before.pid})." if before else "It was not running."
    say(f"{told} Started: Junto {after.version} (pid {after.pid}).")
    click.echo(f"{after.url}/mcp")


def status(settings: Settings, wishes: Wishes, *, as_json: bool) -> int:
    """Print how the server is; return the exit code."""
    sight = place_of(settings).look()
    server = sight.server
    if server is None:
        state = "unsettled" if sight.there else "stopped"
        facts: dict[str, Any] = {"state": state, "note": _note(state, settings.http)}
    else:
        well, changes = answers(server), changes_since(server, wishes)
        facts = {
            "state": "running" if well else "unsettled",
            "pid": server.pid,
            "since": datetime.fromtimestamp(server.since, UTC).isoformat(timespec="seconds"),
            "url": f"{server.url}/mcp",
            "version": server.version,
            "healthy": well,
            "log": server.log,
            "changed": changes,
        }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        _show(facts)
    return 0 if facts["state"] == "running" else _NOT_RUNNING


def changes_since(server: Server, wishes: Wishes) -> list[str]:
    """Return what is different now from what `server` was started with."""
    changes = [] if server.version == __version__ else ["version"]
    try:
        now = fingerprint(wishes.after(server).loaded().settings)
    except JuntoError:
        return [*changes, "configuration"]  # it cannot even be read now
    return changes if now == server.settings else [*changes, "configuration"]


def _show(facts: Mapping[str, Any]) -> None:
    if "pid" not in facts:
        click.echo(facts["note"])
        return
    word = "Running" if facts["healthy"] else "Starting, stopping, or not well"
    click.echo(f"{word} since {facts['since']} (pid {facts['pid']}).")
    click.echo(f"  serves   {facts['url']}")
    click.echo(f"  version  {facts['version']}")
    click.echo(f"  log      {facts['log']}")
    _say_changes(facts["changed"])


def _say_what_changed(server: Server, wishes: Wishes) -> None:
    _say_changes(changes_since(server, wishes))


def _say_changes(changes: list[str]) -> None:
    if changes:
        what = " and ".join(changes)
        verb = "differ" if len(changes) > 1 else "differs"
        say(f"Its {what} {verb} from yours: `junto restart` to apply.")


def _note(state: str, options: Http) -> str:
    if state == "stopped":
        return f"Not running.{_stranger(options)}"
    return "A background server is starting or stopping. Look again in a moment."


def _stranger(options: Http) -> str:
    """Say who is at the port instead, if anybody is."""
    where = f"{options.host}:{options.port}"
    try:
        with socket.create_connection(
            (options.host.strip("[]"), options.port), timeout=_STRANGER_SECONDS
        ):
            pass
    except OSError:
        return ""
    host = f"[{options.host}]" if ":" in options.host else options.host
    junto = health_at(f"http://{host}:{options.port}", _STRANGER_SECONDS)
    who = "a Junto" if junto else "a program"
    return f" {where} is held by {who} not started in the background; it is left alone."
