"""`junto serve` and `junto mcp`."""

import asyncio
import signal
import sys

import click

from junto import __version__
from junto.app import DESCRIPTION, Junto, running
from junto.cli import settled
from junto.settings import Loaded


def over_stdio(loaded: Loaded) -> None:
    """Serve the client that started this process, until it closes our input."""
    from junto.transport.protocol import server_of
    from junto.transport.stdio import serve_stdio

    if sys.stdin.isatty():
        click.echo(
            "Junto speaks MCP on standard input; a client should start this command.\n"
            "To try it by hand, type a JSON-RPC message per line; Ctrl-D ends.",
            err=True,
        )
    with running(loaded, default_level="warning") as junto:
        server, options = server_of(junto.surface), junto.settings.stdio
        settled()
        asyncio.run(serve_stdio(server, drain=options.drain, most_bytes=options.max_line_bytes))


def over_http(loaded: Loaded) -> None:
    """Serve whoever connects, until a signal comes."""
    with running(loaded, default_level="info") as junto:
        # uvicorn finishes what is running, then raises the signal again for whoever comes after
        # it; that is us, and we are done.
        signal.signal(signal.SIGTERM, lambda *_: None)
        signal.signal(signal.SIGINT, lambda *_: None)
        asyncio.run(_served(junto))


async def _served(junto: Junto) -> None:
    from junto.transport import page
    from junto.transport.http import (
        HttpOptions,
        Views,
        application,
        listening,
        serve_http,
    )
    from junto.transport.protocol import server_of

    options = HttpOptions(**dict(junto.settings.http))
    views = Views(
        health=junto.status.report,
        metrics=junto.metrics.exposition,
        page=lambda base: page.render(
            base, junto.status.report(), DESCRIPTION, junto.surface.tools.definitions()
        ),
    )
    app = application(server_of(junto.surface), views, options)
    settled()
    with listening(options) as listener:
        host, port = listener.getsockname()[:2]
        base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        click.echo(f"Junto {__version__} serves MCP at {base}/mcp", err=True)
        click.echo(f"Open {base}/ to see how to connect a client; Ctrl-C stops.", err=True)
        await serve_http(app, listener, options)
    click.echo("Junto has stopped.", err=True)
