"""The calls under way over HTTP, so that a notice which comes by another request can stop one."""

import asyncio
import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp_types import JSONRPCNotification
from starlette.requests import Request

from junto.domain.signals import Signal, Signals
from junto.telemetry.logs import Log

_log = Log.of("transport")

CANCELLED = "notifications/cancelled"


@dataclass(frozen=True, slots=True)
class _Call:
    request: Request
    task: "asyncio.Task[Any]"


@dataclass(frozen=True, slots=True)
class Calls:
    """Knows each call by its id and its client.

    Without sessions nothing names a client, and ids are mostly small numbers. So a client is told
    by what its requests have in common; where two calls look the same, neither is stopped.
    """

    signals: Signals | None = None
    _calls: dict[int | str, list[_Call]] = field(default_factory=dict)

    @contextlib.contextmanager
    def under_way(
        self, request: Request, request_id: int | str, task: "asyncio.Task[Any]"
    ) -> Iterator[None]:
        """Know a call until the end of the block."""
        key, call = coerce_request_id(request_id), _Call(request, task)
        same = self._calls.setdefault(key, [])
        same.append(call)
        try:
            yield
        finally:
            same.remove(call)
            if not same:
                del self._calls[key]

    async def notice(self, request: Request, message: JSONRPCNotification) -> None:
        """Stop the call that a notice names, here or on another server."""
        named = (message.params or {}).get("requestId") if message.method == CANCELLED else None
        request_id = as_request_id(named)
        if request_id is None:
            return
        key, client = coerce_request_id(request_id), _client(request)
        if not self._cancel(key, client) and self.signals:
            await self.signals.send({"request": key, "client": client})

    def hear(self, signal: Signal) -> None:
        """Stop the call that another server was asked to stop."""
        key = as_request_id(signal.get("request"))
        if key is not None:
            self._cancel(coerce_request_id(key), str(signal.get("client")))

    def _cancel(self, key: int | str, client: str) -> bool:
        """Stop the one call that is meant; return whether any looks like it."""
        found = [each for each in self._calls.get(key, ()) if _client(each.request) == client]
        if len(found) == 1:
            found[0].task.cancel()
        elif found:
            _log.warning("a cancelled call was not stopped: two look the same", request=key)
        return bool(found)


def _client(request: Request) -> str:
    """Return what the requests of one client have in common, in a way that tells nobody more."""
    kept = ("authorization", "user-agent", "mcp-session-id")
    facts = [request.client.host if request.client else "", *map(request.headers.get, kept)]
    return hashlib.sha256(repr(facts).encode()).hexdigest()
