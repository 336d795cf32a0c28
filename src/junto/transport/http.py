"""MCP over HTTP, with a page, health and metrics beside it."""

import asyncio
import contextlib
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
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from junto.domain.errors import ConfigurationError, NetworkError
from junto.telemetry.metrics import CONTENT_TYPE
from junto.transport.eras import is_modern
from junto.transport.exchange import Exchange
from junto.transport.gate import Gate, is_loopback

# The page loads nothing and runs nothing; it is only to be read.
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How the server is to behave."""

    host: str = "127.0.0.1"
    port: int = 0
    json_only: bool = False
    sessions: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body_bytes: int = 32 * 1024 * 1024
    request_timeout: float = 30
    drain: float = 30


@dataclass(frozen=True, slots=True)
class Views:
    """What the routes beside `/mcp` show."""

    health: Callable[[], dict[str, Any]]
    metrics: Callable[[], bytes]
    page: Callable[[str], str]


def application(server: Server[Any], views: Views, options: HttpOptions) -> ASGIApp:
    """Return the ASGI application that serves `server` and `views`."""
    endpoint = _Endpoint.of(server, options)
    ready = asyncio.Event()

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with endpoint.running():
            ready.set()
            yield
            ready.clear()

    async def health(_request: Request) -> Response:
        return JSONResponse(views.health())

    async def readiness(_request: Request) -> Response:
        return JSONResponse({"ready": ready.is_set()}, 200 if ready.is_set() else 503)

    async def metrics(_request: Request) -> Response:
        return Response(views.metrics(), media_type=CONTENT_TYPE)

    async def page(request: Request) -> Response:
        base = f"{request.url.scheme}://{request.url.netloc}"
        return HTMLResponse(views.page(base), headers=_PAGE_HEADERS)

    app = Starlette(
        routes=[
            Route("/mcp", RequestBodyLimitMiddleware(endpoint, options.max_body_bytes)),
            Route("/health", health),
            Route("/ready", readiness),
            Route("/metrics", metrics),
            Route("/", page),
        ],
        lifespan=lifespan,
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
    def of(cls, server: Server[Any], options: HttpOptions) -> "_Endpoint":
        manager = StreamableHTTPSessionManager(
            server,
            json_response=options.json_only,
            max_request_body_size=options.max_body_bytes,
            # The gate in front of all routes checks Host and Origin; nothing is left to defaults.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return cls(Exchange(server, options.json_only), manager if options.sessions else None)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.sessions.run() if self.sessions else contextlib.nullcontext():
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


@contextlib.contextmanager
def listening(options: HttpOptions) -> Iterator[socket.socket]:
    """Yield a socket that listens where `options` say.

    Raises:
        ConfigurationError: the address is not loopback, and nobody would be asked for a key there.
        NetworkError: the address cannot be had.
    """
    if not is_loopback(options.host):
        raise ConfigurationError(
            f"http.host={options.host}: without authentication Junto listens on loopback only. "
            "Use 127.0.0.1, and put a reverse proxy that asks for a key in front of it."
        )
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


async def serve_http(app: ASGIApp, listener: socket.socket, options: HttpOptions) -> None:
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
        timeout_graceful_shutdown=max(1, round(options.drain)),
    )
    await uvicorn.Server(config).serve(sockets=[listener])


def _impatient(seconds: float) -> type[H11Protocol]:
    class Impatient(H11Protocol):
        """Hangs up on whoever connects and then does not ask."""

        @override
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.loop.call_later(seconds, self._hang_up)

        def _hang_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return Impatient
