"""One id for everything that happens on behalf of one call."""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_current: ContextVar[str | None] = ContextVar("trace_id", default=None)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def current_trace() -> str | None:
    """Return the id of the call under way, if there is one."""
    return _current.get()


@contextmanager
def traced(*carriers: Mapping[str, Any] | None) -> Iterator[str]:
    """Give everything inside one trace id: the caller's first `traceparent`, or a new one."""
    named = (str(carrier.get("traceparent", "")) for carrier in carriers if carrier)
    theirs = next(filter(None, map(_TRACEPARENT.fullmatch, named)), None)
    token = _current.set(theirs[1] if theirs else secrets.token_hex(16))
    try:
        yield _current.get() or ""
    finally:
        _current.reset(token)
