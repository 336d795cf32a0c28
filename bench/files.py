"""The processor time of reading 1 MB through a tool, against a plain read behind the SDK."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.processes import HANDSHAKE, on_stdio
from bench.rows import Row

BARE = ("bench.bare", "stdio")
JUNTO = ("junto", "mcp")
ROUNDS, CALLS = 3, 50
LIMIT = 1.5


def rows() -> Iterator[Row]:
    line = 'A line of a text with some \\ and " and ü in it.\n'
    with tempfile.NamedTemporaryFile("w", dir=Path.cwd(), suffix=".txt") as file:
        file.write(line * (1_000_000 // len(line)))
        file.flush()
        whole = {"path": file.name}
        bare, ours = [], []
        for _ in range(ROUNDS):
            bare.append(read(BARE, whole))
            ours.append(read(JUNTO, {**whole, "limit": 1_000_000}))
        yield Row(
            "a file of 1 MB, ms CPU",
            statistics.median(bare),
            statistics.median(ours),
            at_most=LIMIT,
        )


def read(command: tuple[str, ...], arguments: dict[str, Any]) -> float:
    """Return the milliseconds that one reading takes."""
    with on_stdio(*command) as process:
        process.ask("initialize", HANDSHAKE)
        call = {"name": "read_file", "arguments": arguments}
        process.ask("tools/call", call)
        before = process.cpu()
        for number in range(CALLS):
            process.ask("tools/call", call, number + 2)
        return (process.cpu() - before) / CALLS * 1000
