"""`junto serve`: the HTTP server, in the foreground or as the background server."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import click

from junto.app.application import Application, build_app
from junto.app.server import DESCRIPTION, build_server_spec
from junto.cli.banner import print_model_notice
from junto.cli.startup import enable_gc
from junto.domain.ids import new_id
from junto.settings import LoadedSettings
from junto.settings.render import compute_fingerprint
from junto.telemetry.log_files import cap_output
from junto.transport import landing_page
from junto.transport.http import Views, build_asgi_app, open_listener, serve_http
from junto.transport.protocol import build_mcp_server
from junto.transport.shutdown import Shutdown
from junto.version import __version__

if TYPE_CHECKING:
    from junto.cli.daemon import StartOptions

_OnReady = Callable[[str], None]
_ContextFactory = Callable[[], AbstractAsyncContextManager[None]]


def serve(loaded: LoadedSettings) -> None:
    """Serve HTTP until SIGINT or SIGTERM."""
    _serve(loaded, lambda _base_url: None, contextlib.nullcontext)


def serve_in_background(loaded: LoadedSettings, start_options: "StartOptions") -> None:
    """Serve HTTP as the background server of the state directory.

    Raises:
        ExecutionError: a background server is already running.
    """
    from junto.cli.daemon import build_daemon_dir, get_daemon_log_path
    from junto.runtime.daemon_state import DaemonInfo, read_start_time

    daemon_dir, log_path = build_daemon_dir(loaded.settings), get_daemon_log_path(loaded.settings)

    def publish_state(base_url: str) -> None:
        daemon_dir.publish(
            DaemonInfo(
                id=new_id(),
                pid=os.getpid(),
                born=read_start_time(os.getpid()),
                since=time.time(),
                url=base_url,
                version=__version__,
                settings=compute_fingerprint(loaded.settings),
                drain=loaded.settings.http.drain,
                log=str(log_path),
                flags=start_options.flags,
                config=str(start_options.config) if start_options.config else None,
            )
        )

    with daemon_dir.hold():
        _serve(loaded, publish_state, lambda: cap_output(log_path))


def _serve(loaded: LoadedSettings, on_ready: _OnReady, open_context: _ContextFactory) -> None:
    with build_app(loaded, default_level="info") as app:
        # Until the event loop handles SIGTERM, let it stop the process like Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_run_server(app, on_ready, open_context))
        click.echo("Junto has stopped.", err=True)


async def _run_server(app: Application, on_ready: _OnReady, open_context: _ContextFactory) -> None:
    options = app.settings.http
    server_spec = build_server_spec(app, app.settings.tools.over_http, over_http=True)
    views = Views(
        health=app.status.report,
        metrics=app.metrics.render_exposition,
        page=lambda base_url: landing_page.render(
            base_url, app.status.report(), DESCRIPTION, server_spec.tools.definitions()
        ),
    )
    asgi_app = build_asgi_app(build_mcp_server(server_spec), views, options, app.jobs.signals)
    enable_gc()
    shutdown = Shutdown()
    with open_listener(options) as listener, shutdown.handle_signals():
        host, port = listener.getsockname()[:2]
        base_url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        click.echo(f"Junto {__version__} serves MCP at {base_url}/mcp", err=True)
        click.echo(f"Open {base_url}/ to see how to connect a client; Ctrl-C stops.", err=True)
        print_model_notice(app.catalog)
        on_ready(base_url)
        async with open_context(), app.open():
            await serve_http(asgi_app, listener, options, shutdown)
            shutdown.set_listener(app.jobs.skip_drain)
