"""The trace id of the current call, taken from W3C `traceparent` or generated."""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_current_trace_id: ContextVar[str | None] = ContextVar("trace_id", default=None)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def get_trace_id() -> str | None:
    """Return the trace id of the current call, if any."""
    return _current_trace_id.get()


@contextmanager
def start_trace(*carriers: Mapping[str, Any] | None) -> Iterator[str]:
    """Set the trace id for the block: from the first valid `traceparent`, or a new one."""
    traceparents = (str(carrier.get("traceparent", "")) for carrier in carriers if carrier)
    match = next(filter(None, map(_TRACEPARENT.fullmatch, traceparents)), None)
    token = _current_trace_id.set(match[1] if match else secrets.token_hex(16))
    try:
        yield _current_trace_id.get() or ""
    finally:
        _current_trace_id.reset(token)
