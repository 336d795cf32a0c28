"""Tokens per second of the embedded model: from the bare engine, and through Junto."""

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from bench.rows import Row
from junto.domain.completions import Question
from junto.domain.messages import Message
from junto.providers.catalog.from_settings import EMBEDDED_CAPABILITIES
from junto.providers.http.client import Timeouts
from junto.providers.local.engine import Engine, EngineOptions
from junto.providers.local.provider import LocalProvider
from junto.providers.local.weights import Weights
from junto.providers.provider import ask

ROUNDS, TOKENS = 5, 200
PROMPT = "Count from one to a thousand, in words."

# Nothing but the engine: no server, no socket, no stream.
BARE = """
import json, sys, time, xllamacpp
options = xllamacpp.CommonParams()
options.model.path = sys.argv[1]
options.n_ctx, options.verbosity = 2048, 1
options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(options)
question = json.loads(sys.argv[2])
for _ in sys.stdin:
    started = time.perf_counter()
    answer = server.handle_chat_completions(question)
    print(answer["usage"]["completion_tokens"] / (time.perf_counter() - started), flush=True)
"""


@contextlib.contextmanager
def bare(weights: Path) -> Iterator["subprocess.Popen[bytes]"]:
    question = {
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": TOKENS,
        "temperature": 0,
    }
    with subprocess.Popen(
        [sys.executable, "-c", BARE, str(weights), json.dumps(question)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def bare_rate(process: "subprocess.Popen[bytes]") -> float:
    assert process.stdin  # noqa: S101
    assert process.stdout  # noqa: S101
    process.stdin.write(b"go\n")
    process.stdin.flush()
    return float(process.stdout.readline())


async def our_rate(model: LocalProvider) -> float:
    question = Question(
        model="m", messages=(Message.user(PROMPT),), max_tokens=TOKENS, temperature=0
    )
    started = time.perf_counter()
    answer = await ask(model, question)
    return answer.usage.output_tokens / (time.perf_counter() - started)


async def measured(folder: Path) -> tuple[float, float]:
    weights = Weights(folder / "weights")

    def engine(path: Path) -> Engine:
        return Engine.create(
            folder, EngineOptions(weights=path, context_tokens=2048), idle_seconds=60
        )

    with bare(weights.path) as process:
        async with AsyncExitStack() as stack:
            model = LocalProvider(weights, engine, EMBEDDED_CAPABILITIES, Timeouts(), stack)
            bare_rate(process)
            await our_rate(model)
            pairs = [(bare_rate(process), await our_rate(model)) for _ in range(ROUNDS)]
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    return first, second


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="jb") as folder:
        bare_tokens, our_tokens = asyncio.run(measured(Path(folder)))
    yield Row("embedded model, tokens a second", bare_tokens, our_tokens, at_least=0.9)
