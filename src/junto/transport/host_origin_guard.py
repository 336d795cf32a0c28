"""ASGI middleware that checks Host and Origin, and limits the time and memory of requests."""

import asyncio
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from junto.telemetry.logs import Log
from junto.transport.http_connections import BodyMemory

_log = Log.get("transport")

_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://(?P<authority>[^/?#@\s]+)", re.IGNORECASE)


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Return whether `host` can only be reached from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class HostOriginGuard:
    """Rejects cross-origin requests from browsers, and requests that arrive too slowly.

    A web page can send requests to loopback, and can resolve a domain of its own to 127.0.0.1 (DNS
    rebinding), but it cannot forge Host or Origin. Both are therefore checked on every route.
    """

    app: ASGIApp
    hosts: frozenset[str]
    origins: frozenset[str]
    timeout_seconds: float
    body_memory: BodyMemory

    @classmethod
    def wrap(
        cls,
        app: ASGIApp,
        *,
        hosts: Iterable[str],
        origins: Iterable[str],
        timeout_seconds: float,
        body_memory: BodyMemory,
    ) -> "HostOriginGuard":
        """Return a guard around `app` that allows loopback and the given hosts and origins."""
        return cls(
            app,
            frozenset(host.lower() for host in hosts),
            frozenset(origin.lower().rstrip("/") for origin in origins),
            timeout_seconds,
            body_memory,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request to the application, or reject it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if refusal := self._find_refusal(scope):
            _log.warning("refused a request", reason=bytes(refusal.body).decode())
            refusal.headers["connection"] = "close"  # the rest of the request stays unread
            await refusal(scope, receive, send)
            return
        await self._forward_with_limits(scope, receive, send)

    def _find_refusal(self, scope: Scope) -> PlainTextResponse | None:
        hosts = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        origins = [value.decode("latin-1") for key, value in scope["headers"] if key == b"origin"]
        if len(hosts) != 1 or not self._is_allowed_host(hosts[0]):
            return PlainTextResponse(
                "Unknown Host. Ask for 127.0.0.1, or add the name to http.allowed_hosts.", 421
            )
        if len(origins) > 1 or not all(self._is_allowed_origin(origin) for origin in origins):
            return PlainTextResponse(
                "Unknown Origin. Pages from elsewhere need a place in http.allowed_origins.", 403
            )
        return None

    def _is_allowed_host(self, authority: str) -> bool:
        match = _AUTHORITY.fullmatch(authority)
        if match is None:
            return False
        return is_loopback(match["name"]) or not self.hosts.isdisjoint(
            {match["name"].lower(), authority.lower()}
        )

    def _is_allowed_origin(self, origin: str) -> bool:
        if origin.lower() in self.origins:
            return True
        match = _ORIGIN.fullmatch(origin)
        authority = _AUTHORITY.fullmatch(match["authority"]) if match else None
        return authority is not None and is_loopback(authority["name"])

    async def _forward_with_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        complete = False
        received = reserved = 0
        deadline = asyncio.get_running_loop().time() + self.timeout_seconds

        async def receive_in_time() -> Message:
            nonlocal complete, received, reserved
            if complete:  # only a disconnect can follow, at any time
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(
                    408, "The request did not arrive in time.", {"connection": "close"}
                ) from None
            complete = not message.get("more_body", False)
            size = len(message.get("body", b""))
            taken = self.body_memory.reserve(received, size)
            if taken is None:
                headers = {"connection": "close", "retry-after": "5"}
                raise HTTPException(503, "Too many large requests at once. Try again.", headers)
            received += size
            reserved += taken
            return message

        try:
            await self.app(scope, receive_in_time, send)
        finally:
            self.body_memory.release(reserved)
