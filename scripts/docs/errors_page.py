"""Writes docs/reference/errors.md: every code that a caller may see."""

from collections.abc import Iterator

from junto.domain import errors
from junto.domain.errors import JuntoError

_HEAD = """\
# Errors

A failure that was foreseen is the result of a tool, with `isError`. Its text is a sentence that says what to do
next, and the structured content has the same for programs:

```json
{"code": "RateLimited", "message": "…", "retryable": true, "retryAfter": 12.5}
```

`retryable` tells whether the same call may succeed later, `retryAfter` (seconds) when, if that is known. There may be
further fields, such as what a run had done before it failed. No message holds a key, a traceback, or a path
outside the allowed folders. On the command line the same sentence stands on standard error, after `junto: `, and
the exit code is 1, or 2 for a `ConfigurationError`.

| code | means | worth trying again |
|---|---|---|
"""
_TAIL = """
A single error may say otherwise about trying again, since some know better.

## Faults of the protocol

These are JSON-RPC errors, as the protocol demands.

| code | means |
|---|---|
| -32700 | the message is not JSON |
| -32600 | it is JSON, but no request; over HTTP, a header is missing |
| -32601 | there is no such method |
| -32602 | there is no such tool, prompt or resource, or the parameters do not fit the method |
| -32603 | something failed inside Junto that nobody foresaw; the message has a trace, and the [log](logs.md) has the traceback under it |

Over HTTP, before any message is read: 403 an unknown `Origin`, 406 a missing `Accept`, 408 a request that does not
arrive in time, 413 one that is too large, 421 an unknown `Host`.
"""


def errors_page() -> str:
    rows = (
        f"| `{each.code}` | {(each.__doc__ or '').partition(chr(10))[0]} | "
        f"{'yes' if each.default_retryable else 'no'} |\n"
        for each in kinds()
    )
    return _HEAD + "".join(rows) + _TAIL


def kinds() -> Iterator[type[JuntoError]]:
    """Yield the class of each code, in the order in which they are written down."""
    seen = set()
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, JuntoError) and each is not JuntoError:
            if each.code not in seen:
                yield each
            seen.add(each.code)
