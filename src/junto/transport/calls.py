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

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Calls:
    """Knows each call by its client and its id.

    Without sessions nothing names a client, and ids are mostly small numbers. So a client is told
    by what its requests have in common; where two calls look the same, neither is stopped.
    """

    signals: Signals | None = None
    _tasks: "dict[Key, list[asyncio.Task[Any]]]" = field(default_factory=dict)

    @contextlib.contextmanager
    def under_way(
        self, request: Request, request_id: int | str, task: "asyncio.Task[Any]"
    ) -> Iterator[None]:
        """Know a call until the end of the block."""
        key = _key(request, request_id)
        self._tasks.setdefault(key, []).append(task)
        try:
            yield
        finally:
            self._tasks[key].remove(task)
            if not self._tasks[key]:
                del self._tasks[key]

    async def notice(self, request: Request, message: JSONRPCNotification) -> None:
        """Stop the call that a notice names, here or on another server."""
        if message.method != CANCELLED:
            return
        request_id = as_request_id((message.params or {}).get("requestId"))
        if request_id is None:
            return
        key = _key(request, request_id)
        if key in self._tasks or self.signals is None:
            self._cancel(key)
        else:
            await self.signals.send({"client": key[0], "request": key[1]})

    def hear(self, signal: Signal) -> None:
        """Stop the call that another server was asked to stop."""
        if "request" in signal:
            self._cancel((str(signal.get("client")), str(signal["request"])))

    def _cancel(self, key: Key) -> None:
        match self._tasks.get(key, []):
            case [task]:
                task.cancel()
            case [_, *_]:
                _log.warning("a cancelled call was not stopped: two look the same", request=key[1])


def _key(request: Request, request_id: int | str) -> Key:
    kept = ("authorization", "user-agent", "mcp-session-id")
    facts = [request.client.host if request.client else "", *map(request.headers.get, kept)]
    client = hashlib.sha256(repr(facts).encode()).hexdigest()
    return client, repr(coerce_request_id(request_id))
