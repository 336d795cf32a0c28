"""`junto serve`."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import click

from junto import __version__
from junto.app import Junto, running
from junto.app.surface import DESCRIPTION
from junto.cli import settled
from junto.cli.notices import say_who_answers
from junto.domain.ids import new_id
from junto.settings import Loaded
from junto.settings.fingerprints import fingerprint
from junto.telemetry.redirected import bounded
from junto.transport import page
from junto.transport.http import Views, application, listening, serve_http
from junto.transport.protocol import server_of
from junto.transport.stopping import Stopping

if TYPE_CHECKING:
    from junto.cli.background import Wishes

_Told = Callable[[str], None]
_Around = Callable[[], AbstractAsyncContextManager[None]]


def serve(loaded: Loaded) -> None:
    """Serve whoever connects, until a signal comes."""
    _serve(loaded, lambda _base: None, contextlib.nullcontext)


def serve_in_background(loaded: Loaded, wishes: "Wishes") -> None:
    """Do the same as the one background server of this state folder.

    Raises:
        ExecutionError: there is one already.
    """
    from junto.cli.background import log_of, place_of
    from junto.work.background import Server, born

    place, log = place_of(loaded.settings), log_of(loaded.settings)

    def tell(base: str) -> None:
        place.tell(
            Server(
                id=new_id(),
                pid=os.getpid(),
                born=born(os.getpid()),
                since=time.time(),
                url=base,
                version=__version__,
                settings=fingerprint(loaded.settings),
                drain=loaded.settings.http.drain,
                log=str(log),
                flags=wishes.flags,
                config=str(wishes.config) if wishes.config else None,
            )
        )

    with place.held():
        _serve(loaded, tell, lambda: bounded(log))


def _serve(loaded: Loaded, tell: _Told, around: _Around) -> None:
    reach = loaded.settings.tools.over_http
    with running(loaded, default_level="info", reach=reach) as junto:
        # Until somebody listens for it, the signal ends us just the same.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_served(junto, tell, around))
        click.echo("Junto has stopped.", err=True)


async def _served(junto: Junto, tell: _Told, around: _Around) -> None:
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
        tell(base)
        async with around(), junto.open():
            await serve_http(app, listener, options, stopping)
            stopping.tell(junto.jobs.hurry)
