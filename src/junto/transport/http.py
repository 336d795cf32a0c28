"""MCP over HTTP, with a page, health and metrics beside it."""

import asyncio
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
from uvicorn.protocols.http.h11_impl import H11Protocol

from junto.domain.errors import ConfigurationError, NetworkError
from junto.domain.signals import Signals
from junto.settings.tree import Http
from junto.telemetry.metrics import CONTENT_TYPE
from junto.transport.calls import Calls
from junto.transport.eras import is_modern
from junto.transport.exchange import Exchange
from junto.transport.gate import Gate, is_loopback
from junto.transport.stopping import Stopping

# The page loads nothing and runs nothing; it is only to be read.
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
    """What the routes beside `/mcp` show."""

    health: Callable[[], dict[str, Any]]
    metrics: Callable[[], bytes]
    page: Callable[[str], str]


def application(
    server: Server[Any], views: Views, options: Http, signals: Signals | None = None
) -> ASGIApp:
    """Return the ASGI application that serves `server` and `views`."""
    endpoint = _Endpoint.of(server, options, Calls(signals))

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with endpoint.running():
            yield

    async def health(_request: Request) -> Response:
        return JSONResponse(views.health())

    async def readiness(_request: Request) -> Response:
        # Whoever gets an answer may send requests: while starting and stopping nobody does.
        return JSONResponse({"ready": True})

    async def metrics(_request: Request) -> Response:
        return Response(views.metrics(), media_type=CONTENT_TYPE)

    async def page(request: Request) -> Response:
        base = f"{request.url.scheme}://{request.url.netloc}"
        return HTMLResponse(views.page(base), headers=_PAGE_HEADERS)

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
    return Gate.before(
        app,
        hosts=options.allowed_hosts,
        origins=options.allowed_origins,
        seconds=options.request_timeout,
    )


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """`/mcp`: every request by itself, or in a session for older clients where that is wanted."""

    exchange: Exchange
    sessions: StreamableHTTPSessionManager | None

    @classmethod
    def of(cls, server: Server[Any], options: Http, calls: Calls) -> "_Endpoint":
        exchange = Exchange(server, options.json_only, calls)
        if not options.sessions:
            return cls(exchange, None)
        manager = StreamableHTTPSessionManager(
            server,
            json_response=options.json_only,
            max_request_body_size=options.max_body_bytes,
            # The gate in front of all routes checks Host and Origin; nothing is left to defaults.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return cls(exchange, manager)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            if self.sessions:
                await stack.enter_async_context(self.sessions.run())
            calls = self.exchange.calls
            if calls.signals:
                await stack.enter_async_context(calls.signals.heard(calls.hear))
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.sessions and not is_modern(Headers(scope=scope)):
            await self.sessions.handle_request(scope, receive, send)
        elif scope["method"] == "POST":
            await self.exchange(scope, receive, send)
        else:
            # Without sessions there is no stream to open with GET and nothing to end with DELETE.
            refusal = Response("POST only: there are no sessions here.", 405, {"allow": "POST"})
            await refusal(scope, receive, send)


def check_host(host: str) -> None:
    """Let only loopback pass.

    Raises:
        ConfigurationError: `host` can be reached from elsewhere, where nobody is asked for a key.
    """
    if not is_loopback(host):
        raise ConfigurationError(
            f"http.host={host}: without authentication Junto listens on loopback only. "
            "Use 127.0.0.1, and put a reverse proxy that asks for a key in front of it."
        )


@contextlib.contextmanager
def listening(options: Http) -> Iterator[socket.socket]:
    """Yield a socket that listens where `options` say.

    Raises:
        ConfigurationError: the address is not loopback, and nobody would be asked for a key there.
        NetworkError: the address cannot be had.
    """
    check_host(options.host)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # Named as TCP, or asyncio does not switch Nagle's algorithm off: 40 ms per answer.
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
    app: ASGIApp, listener: socket.socket, options: Http, stopping: Stopping
) -> None:
    """Serve `app` on `listener` until a signal comes, then let running calls finish."""
    config = uvicorn.Config(
        app,
        # h11: httptools keeps trailing blanks in header values, which the protocol forbids.
        http=_impatient(options.request_timeout),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, math.ceil(options.drain)),
    )
    server = _Server(config)
    stopping.tell(lambda: server.handle_exit(signal.SIGTERM, None))
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again while there is still work to finish."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _impatient(seconds: float) -> type[H11Protocol]:
    class Impatient(H11Protocol):
        """Hangs up on whoever connects and does not ask, or begins to ask and does not go on."""

        @override
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._half = False
            self._timer = self.loop.call_later(seconds, self._look)

        @override
        def connection_lost(self, exc: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(exc)

        def _look(self) -> None:
            cycle: Any = self.cycle  # None until the first request, whatever its type says
            idle = cycle is None or cycle.response_complete
            half = idle and bool(self.conn.trailing_data[0])
            if cycle is None or (half and self._half):
                self.transport.close()
            else:
                self._half = half
                self._timer = self.loop.call_later(seconds, self._look)

    return Impatient
