"""The HTTP server: the MCP endpoint, the landing page, health and metrics."""

import contextlib
import math
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecuritySettings,
)
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from junto.domain.errors import ConfigurationError, NetworkError
from junto.domain.pubsub import PubSub
from junto.settings.schema import HttpSettings
from junto.telemetry.metrics import EXPOSITION_CONTENT_TYPE
from junto.transport.host_origin_guard import HostOriginGuard, is_loopback
from junto.transport.http_connections import BodyMemory, Connections, build_protocol_class
from junto.transport.inflight import InflightCalls
from junto.transport.shutdown import Shutdown
from junto.transport.stateless_http import StatelessHandler
from junto.transport.versions import is_modern

# The landing page loads no external resources and runs no scripts.
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Views:
    """The content of the routes other than `/mcp`."""

    health: Callable[[], dict[str, Any]]
    metrics: Callable[[], bytes]
    page: Callable[[str], str]


def build_asgi_app(
    server: Server[Any], views: Views, options: HttpSettings, signals: PubSub | None = None
) -> ASGIApp:
    """Return the ASGI application that serves `server` and `views`."""
    endpoint = _McpEndpoint.create(server, options, InflightCalls(signals))

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with endpoint.run():
            yield

    async def health(_request: Request) -> Response:
        return JSONResponse(views.health())

    async def readiness(_request: Request) -> Response:
        # The server only answers between startup and shutdown, so any answer means ready.
        return JSONResponse({"ready": True})

    async def metrics(_request: Request) -> Response:
        return Response(views.metrics(), media_type=EXPOSITION_CONTENT_TYPE)

    async def page(request: Request) -> Response:
        base_url = f"{request.url.scheme}://{request.url.netloc}"
        return HTMLResponse(views.page(base_url), headers=_PAGE_HEADERS)

    app: ASGIApp = Starlette(
        routes=[
            Route("/mcp", RequestBodyLimitMiddleware(endpoint, options.max_body_bytes)),
            Route("/health", health),
            Route("/ready", readiness),
            Route("/metrics", metrics),
            Route("/", page),
        ],
        lifespan=lifespan,
    )
    if options.allowed_origins:
        app = CORSMiddleware(
            app,
            allow_origins=options.allowed_origins,
            allow_methods=["POST"],
            allow_headers=["*"],
        )
    return HostOriginGuard.wrap(
        app,
        hosts=options.allowed_hosts,
        origins=options.allowed_origins,
        timeout_seconds=options.request_timeout,
        body_memory=BodyMemory(max(options.max_buffered_bytes, options.max_body_bytes)),
    )


@dataclass(frozen=True, slots=True)
class _McpEndpoint:
    """The `/mcp` endpoint: stateless, or with sessions for older clients if they are enabled."""

    stateless: StatelessHandler
    sessions: StreamableHTTPSessionManager | None

    @classmethod
    def create(
        cls, server: Server[Any], options: HttpSettings, inflight: InflightCalls
    ) -> "_McpEndpoint":
        stateless = StatelessHandler(server, options.json_only, inflight)
        if not options.sessions:
            return cls(stateless, None)
        manager = StreamableHTTPSessionManager(
            server,
            json_response=options.json_only,
            max_request_body_size=options.max_body_bytes,
            # HostOriginGuard already checks Host and Origin on all routes.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return cls(stateless, manager)

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            if self.sessions:
                await stack.enter_async_context(self.sessions.run())
            inflight = self.stateless.inflight
            if inflight.signals:
                await stack.enter_async_context(inflight.signals.subscribe(inflight.on_signal))
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.sessions and not is_modern(Headers(scope=scope)):
            await self.sessions.handle_request(scope, receive, send)
        elif scope["method"] == "POST":
            await self.stateless(scope, receive, send)
        else:
            # GET (opening a stream) and DELETE (ending a session) only make sense with sessions.
            refusal = Response("POST only: there are no sessions here.", 405, {"allow": "POST"})
            await refusal(scope, receive, send)


def check_host(host: str) -> None:
    """Check that `host` is a loopback address.

    Raises:
        ConfigurationError: `host` can be reached from other machines, which are not authenticated.
    """
    if not is_loopback(host):
        raise ConfigurationError(
            f"http.host={host}: without authentication Junto listens on loopback only. "
            "Use 127.0.0.1, and put a reverse proxy that asks for a key in front of it."
        )


@contextlib.contextmanager
def open_listener(options: HttpSettings) -> Iterator[socket.socket]:
    """Yield a socket that listens on the configured host and port.

    Raises:
        ConfigurationError: the host is not a loopback address, see `check_host`.
        NetworkError: the port is in use, or binding to it failed.
    """
    check_host(options.host)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # asyncio disables Nagle's algorithm (40 ms per response) only if the protocol is given as TCP.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((options.host.strip("[]"), options.port))
            listener.listen(_BACKLOG)
        except OSError as error:
            raise NetworkError(
                f"Port {options.port} on {options.host} cannot be had ({error.strerror}). "
                "Choose another with --port, or stop what holds it; `junto doctor` tells who does."
            ) from error
        yield listener


async def serve_http(
    app: ASGIApp, listener: socket.socket, options: HttpSettings, shutdown: Shutdown
) -> None:
    """Serve `app` on `listener` until a shutdown signal, then let running calls finish."""
    config = uvicorn.Config(
        app,
        # h11: httptools keeps trailing whitespace in header values, which HTTP wants stripped.
        http=build_protocol_class(
            Connections.create(options.max_connections), options.request_timeout
        ),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, math.ceil(options.drain)),
    )
    server = _UvicornServer(config)
    shutdown.set_listener(lambda: server.handle_exit(signal.SIGTERM, None))
    await server.serve(sockets=[listener])


class _UvicornServer(uvicorn.Server):
    """A uvicorn server that leaves signals to `Shutdown`.

    uvicorn raises captured signals again when it stops, while there is still work to finish.
    """

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
