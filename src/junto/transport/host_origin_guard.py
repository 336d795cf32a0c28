"""Who may knock at the HTTP server: the right Host, the right Origin, and not too slowly."""

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

_log = Log.of("transport")

_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://(?P<authority>[^/?#@\s]+)", re.IGNORECASE)


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Tell whether `host` can only be reached from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Gate:
    """Refuses requests that a browser was tricked into, and clients that never finish asking.

    A web page may send requests to loopback, and may point a name of its own at 127.0.0.1; it can
    forge neither Host nor Origin. So every route asks for both.
    """

    app: ASGIApp
    hosts: frozenset[str]
    origins: frozenset[str]
    seconds: float

    @classmethod
    def before(
        cls, app: ASGIApp, *, hosts: Iterable[str], origins: Iterable[str], seconds: float
    ) -> "Gate":
        """Put a gate before `app` that lets loopback in, and what is listed here."""
        return cls(
            app,
            frozenset(host.lower() for host in hosts),
            frozenset(origin.lower().rstrip("/") for origin in origins),
            seconds,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if refusal := self._refusal(scope):
            _log.warning("refused a request", reason=bytes(refusal.body).decode())
            refusal.headers["connection"] = "close"  # the rest of the request is not read
            await refusal(scope, receive, send)
            return
        await self._timed(scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        hosts = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        origins = [value.decode("latin-1") for key, value in scope["headers"] if key == b"origin"]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return PlainTextResponse(
                "Unknown Host. Ask for 127.0.0.1, or add the name to http.allowed_hosts.", 421
            )
        if len(origins) > 1 or not all(self._may_ask(origin) for origin in origins):
            return PlainTextResponse(
                "Unknown Origin. Pages from elsewhere need a place in http.allowed_origins.", 403
            )
        return None

    def _is_ours(self, authority: str) -> bool:
        match = _AUTHORITY.fullmatch(authority)
        if match is None:
            return False
        return is_loopback(match["name"]) or not self.hosts.isdisjoint(
            {match["name"].lower(), authority.lower()}
        )

    def _may_ask(self, origin: str) -> bool:
        if origin.lower() in self.origins:
            return True
        match = _ORIGIN.fullmatch(origin)
        authority = _AUTHORITY.fullmatch(match["authority"]) if match else None
        return authority is not None and is_loopback(authority["name"])

    async def _timed(self, scope: Scope, receive: Receive, send: Send) -> None:
        complete = False
        deadline = asyncio.get_running_loop().time() + self.seconds

        async def receive_in_time() -> Message:
            nonlocal complete
            if complete:  # from here on only a hang-up can come, whenever it likes
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(
                    408, "The request did not arrive in time.", {"connection": "close"}
                ) from None
            complete = not message.get("more_body", False)
            return message

        await self.app(scope, receive_in_time, send)
