"""Limits for HTTP connections: how many there are, how slow they may be, how much they buffer.

A client may open thousands of connections, or send requests without finishing them. When there are
too many, the oldest one that has not sent a complete request is closed, so that clients that send
theirs at once are always answered.
"""

import asyncio
import contextlib
import resource
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from junto.telemetry.logs import Log

_log = Log.get("transport")

_MAX_DESCRIPTORS = 65_536
# Descriptors for files, databases and providers; connections take at most the rest.
_RESERVED_DESCRIPTORS = 256
_MIN_CONNECTIONS = 64
_MAX_HEADER_SECONDS = 10.0
# How long a client may leave an answer unread.
_MAX_BLOCKED_SECONDS = 30.0
# The first bytes of a request are not counted, so that small requests always have room.
_UNCOUNTED_BODY_BYTES = 256 * 1024
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 0\r\n\r\n"
)


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files as far as it may be raised, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            return target
    return soft


@dataclass(slots=True)
class Connections:
    """All connections of a server, the oldest first."""

    max_count: int
    _guards: "dict[ConnectionGuard, None]" = field(default_factory=dict)
    _has_warned: bool = False

    @classmethod
    def create(cls, max_count: int) -> "Connections":
        """Return the connections of a server, limited by the descriptors of this process."""
        available = raise_descriptor_limit() - _RESERVED_DESCRIPTORS
        return cls(max(_MIN_CONNECTIONS, min(max_count, available)))

    def add(self, guard: "ConnectionGuard") -> bool:
        """Add a connection, and close another for it if needed; return whether there is room."""
        if len(self._guards) >= self.max_count and not self._close_one():
            return False
        self._guards[guard] = None
        return True

    def remove(self, guard: "ConnectionGuard") -> None:
        """Remove a connection that has been closed."""
        self._guards.pop(guard, None)

    def _close_one(self) -> bool:
        if not self._has_warned:
            self._has_warned = True  # a flood must not fill the log, too
            _log.warning("too many connections; incomplete ones are closed", limit=self.max_count)
        waiting = next((guard for guard in self._guards if guard.is_waiting()), None)
        if waiting is None:
            return False
        self.remove(waiting)
        waiting.transport.abort()
        return True


class ConnectionGuard(H11Protocol):
    """A connection that is closed if it sends no request, or only a part of one, in time."""

    # Set by `build_protocol_class`.
    connections_of_server: Connections
    header_seconds: float
    max_blocked_seconds: float

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._has_partial_request = False
        self._blocked_since: float | None = None
        self._timer = self.loop.call_later(self.header_seconds, self._check_progress)
        if not self.connections_of_server.add(self):
            transport.write(_REFUSAL)
            transport.close()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self.connections_of_server.remove(self)
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        self._blocked_since = self.loop.time()
        super().pause_writing()

    @override
    def resume_writing(self) -> None:
        self._blocked_since = None
        super().resume_writing()

    def is_waiting(self) -> bool:
        """Return whether the connection waits for its client: for a request, or to be read."""
        if self._blocked_since is not None:
            return True
        cycle: Any = self.cycle  # None until the first request, despite its declared type
        return cycle is None or cycle.response_complete or cycle.more_body

    def _check_progress(self) -> None:
        blocked_since = self._blocked_since
        if (
            blocked_since is not None
            and self.loop.time() - blocked_since > self.max_blocked_seconds
        ):
            self.transport.abort()
            return
        cycle: Any = self.cycle
        is_idle = cycle is None or cycle.response_complete
        has_partial = is_idle and bool(self.conn.trailing_data[0])
        if cycle is None or (has_partial and self._has_partial_request):
            self.transport.close()
        else:
            self._has_partial_request = has_partial
            self._timer = self.loop.call_later(self.header_seconds, self._check_progress)


def build_protocol_class(
    connections: Connections,
    timeout_seconds: float,
    blocked_seconds: float = _MAX_BLOCKED_SECONDS,
) -> type[H11Protocol]:
    """Return the protocol class for the connections of one server."""

    class ServerConnection(ConnectionGuard):
        connections_of_server = connections
        header_seconds = min(timeout_seconds, _MAX_HEADER_SECONDS)
        max_blocked_seconds = blocked_seconds

    return ServerConnection


@dataclass(slots=True)
class BodyMemory:
    """The memory that the bodies of all requests take together."""

    max_bytes: int
    _used: int = 0

    def reserve(self, already_received: int, size: int) -> int | None:
        """Reserve memory for a piece of a body; return how much, or None if there is no room."""
        counted = max(0, already_received + size - _UNCOUNTED_BODY_BYTES)
        counted -= max(0, already_received - _UNCOUNTED_BODY_BYTES)
        if self._used + counted > self.max_bytes:
            return None
        self._used += counted
        return counted

    def release(self, size: int) -> None:
        """Release the memory of a request that has been answered."""
        self._used -= size
