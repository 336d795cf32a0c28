"""Cold start, memory, and the processor time of a call, against the bare SDK."""

import http.client
import socket
import statistics
from collections.abc import Callable
from typing import Any

from bench.processes import HANDSHAKE, on_http, on_stdio, post
from bench.rows import Row

BARE_STDIO = ("bench.bare", "stdio")
JUNTO_STDIO = ("junto", "mcp")
BARE_HTTP = ("bench.bare", "http", "{port}")
JUNTO_HTTP = ("junto", "serve", "--port", "{port}")

CALL = {"name": "current_time", "arguments": {}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN_HEADERS = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "current_time",
}

# The most that each ratio may be.
LIMITS = {
    "cold start, ms CPU": 1.10,
    "idle memory, MiB": 1.25,
    "stdio call, µs CPU": 0.60,
    "HTTP call 2026-07-28, µs CPU": 1.25,
    "HTTP call 2025-11-25, µs CPU": 1.25,
}


def compared(
    name: str, measure: Callable[[tuple[str, ...]], float], bare: Any, ours: Any, rounds: int
) -> Row:
    """Measure both in turn, so that a noisy minute hits both, and compare the medians."""
    pairs = [(measure(bare), measure(ours)) for _ in range(rounds)]
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Row(name, first, second, at_most=LIMITS[name])


def cold_start(words: tuple[str, ...]) -> float:
    """Return the milliseconds of processor time from nothing to the first reply."""
    with on_stdio(*words) as process:
        process.ask("initialize", HANDSHAKE)
        return process.cpu() * 1000


def idle_memory(words: tuple[str, ...]) -> float:
    with on_stdio(*words) as process:
        process.ask("initialize", HANDSHAKE)
        process.ask("tools/list", {}, 2)
        return process.rss_mib()


def stdio_call(words: tuple[str, ...], calls: int = 2000) -> float:
    """Return the microseconds of processor time that one call takes."""
    with on_stdio(*words) as process:
        process.ask("initialize", HANDSHAKE)
        for number in range(100):
            process.ask("tools/call", CALL, number + 2)
        before = process.cpu()
        for number in range(calls):
            process.ask("tools/call", CALL, number + 1000)
        return (process.cpu() - before) / calls * 1e6


def http_call(words: tuple[str, ...], modern: bool, calls: int = 1000) -> float:  # noqa: FBT001
    params = {**CALL, "_meta": ENVELOPE} if modern else CALL
    headers = MODERN_HEADERS if modern else {"MCP-Protocol-Version": "2025-11-25"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with on_http(*words) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(100):
            post(connection, body, headers)
        before = process.cpu()
        for _ in range(calls):
            post(connection, body, headers)
        spent = process.cpu() - before
        connection.close()
        return spent / calls * 1e6


def rows() -> list[Row]:
    return [
        compared("cold start, ms CPU", cold_start, BARE_STDIO, JUNTO_STDIO, 11),
        compared("idle memory, MiB", idle_memory, BARE_STDIO, JUNTO_STDIO, 3),
        compared("stdio call, µs CPU", stdio_call, BARE_STDIO, JUNTO_STDIO, 5),
        compared(
            "HTTP call 2026-07-28, µs CPU",
            lambda words: http_call(words, modern=True),
            BARE_HTTP,
            JUNTO_HTTP,
            5,
        ),
        compared(
            "HTTP call 2025-11-25, µs CPU",
            lambda words: http_call(words, modern=False),
            BARE_HTTP,
            JUNTO_HTTP,
            5,
        ),
    ]
