"""`junto serve`, `mcp`, and the server in the background."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from junto.cli.options import F, junto, loaded_with, with_settings

if TYPE_CHECKING:
    from junto.cli.background import Wishes
    from junto.settings import Settings


def _with_address(command: F) -> F:
    """Add the options that every command about the HTTP server takes."""
    port = click.IntRange(0, 65535)
    for option in (
        click.option("--port", type=port, help="The port; 0 for any.  [default: 32701]"),
        click.option("--host", help="The address to listen on.  [default: 127.0.0.1]"),
    ):
        command = option(command)
    return with_settings(command)


def _flags(host: str | None, port: int | None, log_level: str | None) -> dict[str, Any]:
    return {"http.host": host, "http.port": port, "logging.level": log_level}


@junto.command(short_help="Serve MCP over HTTP, for clients that connect.")
@click.option("--reload", is_flag=True, help="Begin anew whenever a source or a setting changes.")
@click.option("--background", is_flag=True, hidden=True)
@_with_address
def serve(config: Path | None, *, reload: bool, background: bool, **address: Any) -> None:
    """Serve MCP over HTTP at /mcp, with a page, health and metrics beside it."""
    if reload:
        from junto.cli import reloading

        reloading.serve(loaded_with(config, **_flags(**address)).files)
        return
    from junto.cli import http

    flags = _flags(**address)
    loaded = loaded_with(config, **flags)
    if background:
        from junto.cli import background as behind

        http.serve_in_background(loaded, behind.Wishes.of(config, flags))
    else:
        http.serve(loaded)


def _behind(
    config: Path | None, host: str | None, port: int | None, log_level: str | None
) -> "tuple[Settings, Wishes]":
    """Return the settings and the wishes for a command about the background server."""
    from junto.cli import background

    flags = _flags(host, port, log_level)
    return loaded_with(config, **flags).settings, background.Wishes.of(config, flags)


@junto.command(short_help="Start the HTTP server in the background.")
@_with_address
def start(**wishes: Any) -> None:
    """Start `junto serve` in the background, wait until it answers, and print its address."""
    from junto.cli import background

    background.start(*_behind(**wishes))


@junto.command(short_help="Stop the background server.")
@_with_address
def stop(**wishes: Any) -> None:
    """Stop the background server, once the calls under way are finished."""
    from junto.cli import background

    background.stop(*_behind(**wishes))


@junto.command(short_help="Stop the background server and start it again.")
@_with_address
def restart(**wishes: Any) -> None:
    """Stop the background server and start it again, with the options it had unless given."""
    from junto.cli import background

    background.restart(*_behind(**wishes))


@junto.command(short_help="Tell how the background server is.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_with_address
def status(*, as_json: bool, **wishes: Any) -> int:
    """Tell how the background server is; the exit code is 3 when it does not run."""
    from junto.cli import background

    return background.status(*_behind(**wishes), as_json=as_json)


@junto.command(short_help="Serve MCP on standard input and output.")
@click.option("--shared", is_flag=True, help="By way of the background server, started if need be.")
@with_settings
def mcp(config: Path | None, log_level: str | None, *, shared: bool) -> None:
    """Serve MCP on standard input and output, for a client that starts this command."""
    loaded = loaded_with(config, log_level)
    if shared and sys.platform == "win32":
        click.echo("There is no background server on Windows yet; this one serves alone.", err=True)
    elif shared:
        from junto.cli import shared as sharing

        sharing.serve(loaded, config, log_level)
        return
    from junto.cli import stdio

    stdio.serve(loaded)
