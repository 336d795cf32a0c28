"""`junto mcp`: the MCP server on standard input and output."""

import asyncio
import sys

import click

from junto.cli.startup import enable_gc
from junto.settings import LoadedSettings
from junto.transport.stdout_guard import claim_stdio


def serve(loaded: LoadedSettings) -> None:
    """Serve the client that started this process, until it closes standard input."""
    is_interactive = sys.stdin is not None and sys.stdin.isatty()
    # Before the other imports, since they may print to standard output.
    fds = claim_stdio()
    from junto.app.application import Application, build_app
    from junto.app.server import build_server_spec
    from junto.cli.banner import print_model_notice
    from junto.transport.protocol import build_mcp_server
    from junto.transport.shutdown import Shutdown
    from junto.transport.stdio import serve_stdio

    if is_interactive:
        click.echo(
            "Junto speaks MCP on standard input; a client should start this command.\n"
            "To try it by hand, type a JSON-RPC message per line; Ctrl-D ends.",
            err=True,
        )
    with build_app(loaded, default_level="warning") as junto:
        print_model_notice(junto.catalog)
        server, options = build_mcp_server(build_server_spec(junto)), junto.settings.stdio

        async def run_server(junto: Application) -> None:
            shutdown = Shutdown()
            with shutdown.handle_signals():
                async with junto.open():
                    await serve_stdio(
                        server,
                        fds,
                        shutdown,
                        drain_seconds=options.drain,
                        max_line_bytes=options.max_line_bytes,
                    )
                    shutdown.set_listener(junto.jobs.skip_drain)

        enable_gc()
        asyncio.run(run_server(junto))
