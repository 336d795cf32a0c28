"""`junto serve`."""

import asyncio
import contextlib
import signal

import click

from junto import __version__
from junto.app import Junto, running
from junto.app.surface import DESCRIPTION
from junto.cli import settled
from junto.cli.notices import say_who_answers
from junto.settings import Loaded
from junto.transport import page
from junto.transport.http import Views, application, listening, serve_http
from junto.transport.protocol import server_of
from junto.transport.stopping import Stopping


def serve(loaded: Loaded) -> None:
    """Serve whoever connects, until a signal comes."""
    reach = loaded.settings.tools.over_http
    with running(loaded, default_level="info", reach=reach) as junto:
        # Until somebody listens for it, the signal ends us just the same.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_served(junto))
        click.echo("Junto has stopped.", err=True)


async def _served(junto: Junto) -> None:
    options = junto.settings.http
    views = Views(
        health=junto.status.report,
        metrics=junto.metrics.exposition,
        page=lambda base: page.render(
            base, junto.status.report(), DESCRIPTION, junto.surface.tools.definitions()
        ),
    )
    app = application(server_of(junto.surface), views, options, junto.jobs.signals)
    settled()
    stopping = Stopping()
    with listening(options) as listener, stopping.heard():
        host, port = listener.getsockname()[:2]
        base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        click.echo(f"Junto {__version__} serves MCP at {base}/mcp", err=True)
        click.echo(f"Open {base}/ to see how to connect a client; Ctrl-C stops.", err=True)
        say_who_answers(junto.catalog)
        async with junto.open():
            await serve_http(app, listener, options, stopping)
            stopping.tell(junto.jobs.hurry)
