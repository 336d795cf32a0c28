"""The processor time of a word from a model to a client on stdio, against the bare SDK."""

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.answers import upstream
from bench.processes import HANDSHAKE, Process, on_stdio
from bench.rows import Row

Command = tuple[str, ...]

BARE: Command = ("bench.bare", "stdio")
JUNTO: Command = ("junto", "mcp")
# What a forwarded word may take, in microseconds.
LIMIT = 60.0
ROUNDS = 3
WORDS = 20_000
# Slowly enough that each word goes out by itself, and many at once, so that few are woken for.
CALLS, EACH, PAUSE = 100, 100, 0.06


def rows() -> Iterator[Row]:
    with upstream() as url, settings(url):
        yield compared("word of a fast model, µs CPU", fast)
        yield compared("word sent by itself, µs CPU", forwarded)


def compared(name: str, measure: Callable[[Command], float]) -> Row:
    pairs = [(measure(BARE), measure(JUNTO)) for _ in range(ROUNDS)]
    bare, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Row(name, bare, ours, at_most=LIMIT / bare)


def fast(command: Command) -> float:
    """Return the microseconds that each word of a long answer takes, from the model on."""
    with on_stdio(*command) as process:
        process.ask("initialize", HANDSHAKE)
        return spent(process, calls=1, words=WORDS, pause=0.0, told=True) * 1e6 / WORDS


def forwarded(command: Command) -> float:
    """Return what telling the client adds to each word that comes."""
    with on_stdio(*command) as process:
        process.ask("initialize", HANDSHAKE)
        told = spent(process, calls=CALLS, words=EACH, pause=PAUSE, told=True)
        kept = spent(process, calls=CALLS, words=EACH, pause=PAUSE, told=False)
        return (told - kept) * 1e6 / (CALLS * EACH)


def spent(process: Process, *, calls: int, words: int, pause: float, told: bool) -> float:
    """Return the processor time of so many answers at once, after a short one to get warm."""
    answered(process, calls, 1, 0.0, told=told)
    before = process.cpu()
    answered(process, calls, words, pause, told=told)
    return process.cpu() - before


def answered(process: Process, calls: int, words: int, pause: float, *, told: bool) -> None:
    """Ask for answers, with progress or without, and read all that comes."""
    assert process.popen.stdin  # noqa: S101
    assert process.popen.stdout  # noqa: S101
    for number in range(calls):
        meta = {"_meta": {"progressToken": number}} if told else {}
        asked = {"name": "chat", "arguments": {"message": f"stream {words} {pause}"}, **meta}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked}
        process.popen.stdin.write(json.dumps(message).encode() + b"\n")
    process.popen.stdin.flush()
    while calls:
        line = process.popen.stdout.readline()
        if b'"error"' in line or not line:
            raise RuntimeError(line)
        calls -= b'"result"' in line


@contextmanager
def settings(url: str) -> Iterator[None]:
    """Point both servers at the same model, and Junto at a folder of its own."""
    model = {"id": "m", "provider": "anthropic", "baseUrl": url, "apiKey": "k"}
    with tempfile.TemporaryDirectory() as folder:
        more = {
            "BENCH_UPSTREAM": url,
            "JUNTO_MODELS": json.dumps([model]),
            "JUNTO_STATE_DIRECTORY": folder,
            "JUNTO_ANSWERS_TIMEOUT": "600",
            "JUNTO_LIMITS_REQUESTS_PER_MINUTE": "100000",
            "JUNTO_LIMITS_TOKENS_PER_MINUTE": "100000000",
            "JUNTO_LIMITS_CONCURRENT": "1000",
        }
        os.environ.update(more)
        try:
            yield
        finally:
            for name in more:
                del os.environ[name]
