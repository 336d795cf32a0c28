"""`junto mcp`."""

import asyncio
import sys

import click

from junto.cli import settled
from junto.settings import Loaded
from junto.transport.descriptors import claim


def serve(loaded: Loaded) -> None:
    """Serve the client that started this process, until it closes our input."""
    person = sys.stdin is not None and sys.stdin.isatty()
    # Before the rest is imported, since that may print as well.
    wire = claim()
    from junto.app import Junto, running
    from junto.cli.notices import say_who_answers
    from junto.transport.protocol import server_of
    from junto.transport.stdio import serve_stdio
    from junto.transport.stopping import Stopping

    if person:
        click.echo(
            "Junto speaks MCP on standard input; a client should start this command.\n"
            "To try it by hand, type a JSON-RPC message per line; Ctrl-D ends.",
            err=True,
        )
    with running(loaded, default_level="warning") as junto:
        say_who_answers(junto.catalog)
        server, options = server_of(junto.surface), junto.settings.stdio

        async def served(junto: Junto) -> None:
            stopping = Stopping()
            with stopping.heard():
                async with junto.open():
                    await serve_stdio(
                        server,
                        wire,
                        stopping,
                        drain=options.drain,
                        most_bytes=options.max_line_bytes,
                    )
                    stopping.tell(junto.jobs.hurry)

        settled()
        asyncio.run(served(junto))
