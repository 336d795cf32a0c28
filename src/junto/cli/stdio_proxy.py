"""`junto mcp --shared`: a stdio proxy to the background server."""

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import click

from junto.cli.daemon import StartOptions, build_daemon_controller, find_changes
from junto.cli.startup import enable_gc
from junto.domain.errors import InputOutputError
from junto.runtime.daemon_control import DaemonController
from junto.runtime.daemon_state import DaemonInfo
from junto.settings import LoadedSettings
from junto.transport.daemon_client import DaemonClient, HttpSession, create_http_session
from junto.transport.in_process import InProcessClient, connect_in_process
from junto.transport.line_io import LineWriter, open_reader, open_writer
from junto.transport.proxy import StdioProxy
from junto.transport.proxy_routing import ProxyRouter
from junto.transport.shutdown import Shutdown
from junto.transport.stdout_guard import claim_stdio


def serve(loaded: LoadedSettings, config: Path | None, log_level: str | None) -> None:
    """Serve the client that started this process through the background server."""
    fds = claim_stdio()
    start_options = StartOptions.from_flags(config, {"logging.level": log_level})
    enable_gc()
    asyncio.run(_run_proxy(loaded, start_options, fds))


async def _run_proxy(
    loaded: LoadedSettings, start_options: StartOptions, fds: tuple[int, int]
) -> None:
    options, shutdown = loaded.settings.stdio, Shutdown()
    with shutdown.handle_signals():
        async with (
            open_writer(fds[1]) as writer,
            open_reader(fds[0], options.max_line_bytes) as reader,
            create_http_session() as http,
            AsyncExitStack() as stack,
        ):
            controller = build_daemon_controller(loaded.settings, start_options)
            backends = _Backends(loaded, start_options, controller, writer, http, stack)
            router = ProxyRouter(
                find_daemon=backends.find_daemon,
                build_in_process=backends.build_in_process,
                on_notice=_print_stderr,
            )
            proxy = StdioProxy(reader, writer, router, options.drain)
            shutdown.set_listener(proxy.stop)
            await proxy.run()


def _print_stderr(text: str) -> None:
    click.echo(text, err=True)


@dataclass(slots=True)
class _Backends:
    """Creates clients for the two servers behind the proxy: background and in-process."""

    loaded: LoadedSettings
    start_options: StartOptions
    controller: DaemonController
    writer: LineWriter
    http: HttpSession
    stack: AsyncExitStack
    _current: tuple[DaemonInfo, DaemonClient] | None = field(default=None, init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def find_daemon(self, *, anew: bool) -> DaemonClient:
        """Return a client for the background server, which is started if needed.

        Raises:
            JuntoError: no background server is running, and none can be started.
        """
        async with self._lock:
            try:
                running = None if anew else self.controller.daemon_dir.get_status().daemon
                daemon = running or (await asyncio.to_thread(self.controller.start))[0]
            except OSError as error:
                raise InputOutputError(f"No background server: {error.strerror}.") from error
            return self._get_upstream(daemon)

    def _get_upstream(self, daemon: DaemonInfo) -> DaemonClient:
        if self._current is None:
            for change in find_changes(daemon, self.start_options):
                _print_stderr(
                    f"The {change} of the background server differs: `junto restart` to apply."
                )
        if self._current is None or self._current[0] != daemon:
            self._current = daemon, DaemonClient(self.http, f"{daemon.url}/mcp")
        return self._current[1]

    async def build_in_process(self) -> InProcessClient:
        """Start a server in this process and return a client for it.

        Raises:
            ConfigurationError: the settings are inconsistent.
        """
        ready = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(_serve_in_process(self.loaded, ready))
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            task.result()  # raises the error of the task
        self.stack.push_async_callback(lambda: task)
        return await self.stack.enter_async_context(
            connect_in_process(ready.result(), self.writer.write)
        )


async def _serve_in_process(
    loaded: LoadedSettings, ready: "asyncio.Future[tuple[int, int]]"
) -> None:
    """Serve on two pipes; `ready` receives the client's ends."""
    # Import in a thread, so that messages to the background server are not delayed.
    for name in ("junto.app.server", "junto.transport.protocol", "junto.transport.stdio"):
        await asyncio.to_thread(import_module, name)
    from junto.app.application import build_app
    from junto.app.server import build_server_spec
    from junto.transport.protocol import build_mcp_server
    from junto.transport.stdio import serve_stdio

    options = loaded.settings.stdio
    with build_app(loaded, default_level="warning") as app:
        server = build_mcp_server(build_server_spec(app))
        async with app.open():
            requests, responses = os.pipe(), os.pipe()
            ready.set_result((responses[0], requests[1]))
            await serve_stdio(
                server,
                (requests[0], responses[1]),
                Shutdown(),
                drain_seconds=options.drain,
                max_line_bytes=options.max_line_bytes,
            )
