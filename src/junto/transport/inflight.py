"""Running HTTP calls, so that a `notifications/cancelled` of another request can cancel one."""

import asyncio
import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp_types import JSONRPCNotification
from starlette.requests import Request

from junto.domain.pubsub import PubSub, PubSubMessage
from junto.telemetry.logs import Log

_log = Log.get("transport")

CANCELLED_METHOD = "notifications/cancelled"


@dataclass(frozen=True, slots=True)
class _InflightCall:
    request: Request
    task: "asyncio.Task[Any]"


@dataclass(frozen=True, slots=True)
class InflightCalls:
    """Running calls by request id and client.

    Without sessions nothing identifies a client, and request ids are mostly small numbers. Clients
    are therefore told apart by a fingerprint of their requests; if two calls match, neither is
    cancelled.
    """

    signals: PubSub | None = None
    _calls: dict[int | str, list[_InflightCall]] = field(default_factory=dict)

    @contextlib.contextmanager
    def track(
        self, request: Request, request_id: int | str, task: "asyncio.Task[Any]"
    ) -> Iterator[None]:
        """Keep a call cancellable until the end of the block."""
        key, call = coerce_request_id(request_id), _InflightCall(request, task)
        calls = self._calls.setdefault(key, [])
        calls.append(call)
        try:
            yield
        finally:
            calls.remove(call)
            if not calls:
                del self._calls[key]

    async def handle_notification(self, request: Request, message: JSONRPCNotification) -> None:
        """Cancel the call that a `notifications/cancelled` names, here or on another server."""
        raw_id = (
            (message.params or {}).get("requestId") if message.method == CANCELLED_METHOD else None
        )
        request_id = as_request_id(raw_id)
        if request_id is None:
            return
        key, client = coerce_request_id(request_id), _fingerprint_client(request)
        if not self._cancel(key, client) and self.signals:
            await self.signals.publish({"request": key, "client": client})

    def on_signal(self, signal: PubSubMessage) -> None:
        """Cancel the call that another server was asked to cancel."""
        key = as_request_id(signal.get("request"))
        if key is not None:
            self._cancel(coerce_request_id(key), str(signal.get("client")))

    def _cancel(self, key: int | str, client: str) -> bool:
        """Cancel the call if exactly one matches; return whether any does."""
        matches = [
            each for each in self._calls.get(key, ()) if _fingerprint_client(each.request) == client
        ]
        if len(matches) == 1:
            matches[0].task.cancel()
        elif matches:
            _log.warning("a cancelled call was not stopped: two look the same", request=key)
        return bool(matches)


def _fingerprint_client(request: Request) -> str:
    """Return a hash of what the requests of one client have in common."""
    header_names = ("authorization", "user-agent", "mcp-session-id")
    parts = [request.client.host if request.client else "", *map(request.headers.get, header_names)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()
