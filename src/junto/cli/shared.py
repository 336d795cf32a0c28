"""`junto mcp --shared`."""

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import click

from junto.cli import settled
from junto.cli.background import Wishes, changes_since, launcher_of
from junto.domain.errors import InputOutputError
from junto.settings import Loaded
from junto.transport.beside import Beside, beside
from junto.transport.descriptors import claim
from junto.transport.pipes import LineWriter, reading, writing
from junto.transport.relay import Relay
from junto.transport.routes import Routes
from junto.transport.stopping import Stopping
from junto.transport.upstream import Connections, Upstream, client
from junto.work.background import Server
from junto.work.launching import Launcher


def serve(loaded: Loaded, config: Path | None, log_level: str | None) -> None:
    """Serve the client that started this process by way of the background server."""
    wire = claim()
    wishes = Wishes.of(config, {"logging.level": log_level})
    settled()
    asyncio.run(_served(loaded, wishes, wire))


async def _served(loaded: Loaded, wishes: Wishes, wire: tuple[int, int]) -> None:
    options, stopping = loaded.settings.stdio, Stopping()
    with stopping.heard():
        async with (
            writing(wire[1]) as writer,
            reading(wire[0], options.max_line_bytes) as reader,
            client() as http,
            AsyncExitStack() as stack,
        ):
            launcher = launcher_of(loaded.settings, wishes)
            way = _Way(loaded, wishes, launcher, writer, http, stack)
            routes = Routes(reach=way.reached, build=way.built, say=_say)
            relay = Relay(reader, writer, routes, options.drain)
            stopping.tell(relay.stop)
            await relay.run()


def _say(text: str) -> None:
    click.echo(text, err=True)


@dataclass(slots=True)
class _Way:
    """Both servers behind this process, as they are found and made."""

    loaded: Loaded
    wishes: Wishes
    launcher: Launcher
    writer: LineWriter
    http: Connections
    stack: AsyncExitStack
    _found: tuple[Server, Upstream] | None = field(default=None, init=False)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def reached(self, *, anew: bool) -> Upstream:
        """Return the background server, started if need be.

        Raises:
            JuntoError: there is none, and none can be started.
        """
        async with self._looking:
            try:
                seen = None if anew else self.launcher.place.look().server
                server = seen or (await asyncio.to_thread(self.launcher.start))[0]
            except OSError as error:
                raise InputOutputError(f"No background server: {error.strerror}.") from error
            return self._upstream(server)

    def _upstream(self, server: Server) -> Upstream:
        if self._found is None:
            for change in changes_since(server, self.wishes):
                _say(f"The {change} of the background server differs: `junto restart` to apply.")
        if self._found is None or self._found[0] != server:
            self._found = server, Upstream(self.http, f"{server.url}/mcp")
        return self._found[1]

    async def built(self) -> Beside:
        """Build a server in this process, which ends with it.

        Raises:
            ConfigurationError: the settings do not fit together.
        """
        ready = asyncio.get_running_loop().create_future()
        work = asyncio.create_task(_serve_here(self.loaded, ready))
        await asyncio.wait({work, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            work.result()  # tells what went wrong
        self.stack.push_async_callback(lambda: work)
        return await self.stack.enter_async_context(beside(ready.result(), self.writer.write))


async def _serve_here(loaded: Loaded, ready: "asyncio.Future[tuple[int, int]]") -> None:
    """Serve on pipes whose other ends are the result of `ready`."""
    # In a thread, so that messages for the other server do not wait for it.
    for name in ("junto.app", "junto.transport.protocol", "junto.transport.stdio"):
        await asyncio.to_thread(import_module, name)
    from junto.app import running
    from junto.transport.protocol import server_of
    from junto.transport.stdio import serve_stdio

    options = loaded.settings.stdio
    with running(loaded, default_level="warning") as junto:
        server = server_of(junto.surface)
        async with junto.open():
            asked, answered = os.pipe(), os.pipe()
            ready.set_result((answered[0], asked[1]))
            await serve_stdio(
                server,
                (asked[0], answered[1]),
                Stopping(),
                drain=options.drain,
                most_bytes=options.max_line_bytes,
            )
