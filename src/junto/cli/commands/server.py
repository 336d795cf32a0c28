"""Definitions of `junto serve`, `mcp`, and the commands for the background server."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from junto.cli.options import (
    F,
    json_option,
    junto,
    load_command_settings,
    profile_option,
    with_settings,
)

if TYPE_CHECKING:
    from junto.cli.daemon import StartOptions
    from junto.settings import Settings

_DAEMON_FILES = {
    "state_directory": "has background/, which tells whether it runs and where",
    "logging.directory": "has background.log, what it says",
}


def _with_address_options(command: F) -> F:
    """Add --host, --port and the settings options to a command."""
    port = click.IntRange(0, 65535)
    for option in (
        click.option(
            "--port",
            metavar="N",
            type=port,
            help="The port to listen on; 0 takes any.  [default: http.port, or 32701]",
        ),
        click.option(
            "--host",
            metavar="ADDRESS",
            help="The address to listen on.  [default: http.host, or 127.0.0.1]",
        ),
    ):
        command = option(command)
    return with_settings(command)


def _build_flags(host: str | None, port: int | None, log_level: str | None) -> dict[str, Any]:
    return {"http.host": host, "http.port": port, "logging.level": log_level}


@junto.command(
    short_help="Serve MCP over HTTP, for clients that connect.",
    heading="Serve",
    examples={
        "junto serve": "On http://127.0.0.1:32701/mcp, until Ctrl-C:",
        "junto serve --port 0 --log-level info": "On any port, telling of each call:",
        "junto serve --reload": "While you work on Junto or its configuration:",
    },
    exits={"1": "the port is taken"},
    see=("junto start", "junto install --http"),
)
@click.option("--reload", is_flag=True, help="Begin anew whenever a source or a setting changes.")
@click.option("--background", is_flag=True, hidden=True)
@_with_address_options
def serve(config: Path | None, *, reload: bool, background: bool, **address: Any) -> None:
    """Serve MCP over HTTP at /mcp, with a page, health and metrics beside it.

    It listens on loopback only. At / is a page that shows how to connect a client; /health and
    /ready tell how it is, /metrics counts for Prometheus. Ctrl-C lets calls under way finish.
    """
    if reload:
        from junto.cli import reloader

        reloader.serve(load_command_settings(config, **_build_flags(**address)).files)
        return
    from junto.cli import http

    flags = _build_flags(**address)
    loaded = load_command_settings(config, shared=background, **flags)
    if background:
        from junto.cli import daemon

        http.serve_in_background(loaded, daemon.StartOptions.from_flags(config, flags))
    else:
        http.serve(loaded)


def _load_daemon_options(
    config: Path | None, host: str | None, port: int | None, log_level: str | None
) -> "tuple[Settings, StartOptions]":
    """Return the settings and start options for a background server command."""
    from junto.cli import daemon

    flags = _build_flags(host, port, log_level)
    settings = load_command_settings(config, shared=True, **flags).settings
    return settings, daemon.StartOptions.from_flags(config, flags)


@junto.command(
    short_help="Start the HTTP server in the background.",
    heading="Serve",
    examples={
        "junto start": "Start it, unless it runs:",
        "junto start --port 8000": "At another port:",
    },
    files=_DAEMON_FILES,
    exits={"1": "it did not come up; the reason is told"},
    see=("junto status", "junto stop", "junto mcp --shared"),
)
@_with_address_options
def start(**options: Any) -> None:
    """Start `junto serve` in the background, wait until it answers, and print its address.

    There is one for each state_directory. If it runs already, its address is printed.
    """
    from junto.cli import daemon

    daemon.start(*_load_daemon_options(**options))


@junto.command(
    short_help="Stop the background server.",
    heading="Serve",
    examples={"junto stop": "Stop it, once it has finished what it does:"},
    files=_DAEMON_FILES,
    see=("junto start", "junto restart"),
)
@_with_address_options
def stop(**options: Any) -> None:
    """Stop the background server, once the calls under way are finished.

    Only what `junto start` or a client with --shared has started is stopped, and nothing else that
    is at the port.
    """
    from junto.cli import daemon

    daemon.stop(*_load_daemon_options(**options))


@junto.command(
    short_help="Stop the background server and start it again.",
    heading="Serve",
    examples={
        "junto restart": "After a change of the configuration, of a key, or of Junto:",
        "junto restart --log-level debug": "With another option than before:",
    },
    files=_DAEMON_FILES,
    exits={"1": "it did not come up again; the reason is told"},
    see=("junto start", "junto status"),
)
@_with_address_options
def restart(**options: Any) -> None:
    """Stop the background server and start it again, with the options it had unless given.

    A configuration that cannot be read stops nothing. Whoever asks meanwhile waits for the new one.
    """
    from junto.cli import daemon

    daemon.restart(*_load_daemon_options(**options))


@junto.command(
    short_help="Tell how the background server is.",
    heading="Serve",
    examples={
        "junto status": "Where it serves, since when, and what has changed since:",
        "junto status --json": "The same for a program:",
    },
    files=_DAEMON_FILES,
    exits={"3": "it does not run, or is not well"},
    see=("junto start", "junto doctor"),
)
@json_option
@_with_address_options
def status(*, as_json: bool, **options: Any) -> int:
    """Tell how the background server is.

    If its settings or its version differ from yours, it says so; `junto restart` applies them.
    """
    from junto.cli import daemon

    return daemon.print_status(*_load_daemon_options(**options), as_json=as_json)


@junto.command(
    short_help="Serve MCP on standard input and output.",
    heading="Serve",
    examples={
        "junto mcp": "What a client runs:",
        "junto mcp --shared": "The same with one server behind all clients:",
        "junto mcp < messages.jsonl": "By hand, one message on each line:",
    },
    see=("junto install", "junto start"),
)
@click.option("--shared", is_flag=True, help="By way of the background server, started if need be.")
@profile_option
@with_settings
def mcp(profile: str | None, config: Path | None, log_level: str | None, *, shared: bool) -> None:
    """Serve MCP on standard input and output, for a client that starts this command.

    Standard output carries the protocol alone; logs go to standard error. It ends when the client
    closes its input, after the calls under way are finished. Tools for files reach the folder it
    is started in, unless tools.roots names others.
    """
    flags: dict[str, Any] = {"tools.profile": profile}
    loaded = load_command_settings(config, log_level, **flags)
    if shared:
        if profile:
            raise click.UsageError(
                "--profile cannot be used with --shared. Set tools.profile in the configuration "
                "of the background server."
            )
        from junto.cli import stdio_proxy

        stdio_proxy.serve(loaded, config, log_level)
        return
    from junto.cli import stdio

    stdio.serve(loaded)
