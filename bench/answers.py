"""The processor time of one streamed answer: the bare wire, Junto, and the vendors' SDKs.

Each way runs in this process, in turn, against one upstream in another process.
"""

import asyncio
import contextlib
import gc
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from bench.rows import Row
from bench.upstream import WORDS
from junto.app.models import build_catalog, open_council
from junto.app.storage import build_stores
from junto.app.usage import build_usage_tracker
from junto.domain.completions import AnswerEvent, Question, TextDelta
from junto.domain.messages import Message
from junto.domain.models import Capabilities
from junto.providers.codecs.anthropic import AnthropicCodec
from junto.providers.codecs.openai import OpenAiCodec
from junto.providers.http.client import Endpoint, HttpClient, Timeouts
from junto.providers.http.provider import HttpProvider
from junto.providers.provider import Provider
from junto.settings.schema import Settings

WHOLE = "".join(WORDS)
QUESTION = Question(model="m", messages=(Message.user("Hi"),))
ROUNDS, ANSWERS = 9, 200

Way = Callable[[], Awaitable[str]]


@contextlib.contextmanager
def upstream() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "bench.upstream"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout  # noqa: S101
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


async def bare(session: aiohttp.ClientSession, url: str, dialect: str) -> str:
    """The least that gets the words out of a stream."""
    path = "/v1/messages" if dialect == "anthropic" else "/v1/chat/completions"
    body = {"model": "m", "max_tokens": 4096, "stream": True}
    body["messages"] = [{"role": "user", "content": "Hi"}]
    heard = []
    async with session.post(url + path, data=orjson.dumps(body)) as response:
        async for line in response.content:
            if line.startswith(b"data: {"):
                event = orjson.loads(line[6:])
                if dialect == "anthropic":
                    if event["type"] == "content_block_delta":
                        heard.append(event["delta"]["text"])
                elif event["choices"]:
                    heard.append(event["choices"][0]["delta"].get("content") or "")
    return "".join(heard)


async def heard(provider: Provider) -> str:
    words = []
    async for event in provider.stream(QUESTION):
        if isinstance(event, TextDelta):
            words.append(event.text)
        elif isinstance(event, AnswerEvent):
            assert event.answer.usage.output_tokens == len(WORDS)  # noqa: S101
    return "".join(words)


def adapter(wire: HttpClient, url: str, dialect: str) -> HttpProvider:
    codec = AnthropicCodec() if dialect == "anthropic" else OpenAiCodec()
    path = "/v1/messages" if dialect == "anthropic" else "/v1/chat/completions"
    endpoint = Endpoint(provider=dialect, url=url + path, headers={"x-api-key": "k"})
    return HttpProvider(codec, endpoint, Capabilities(), wire, Timeouts())


@contextlib.asynccontextmanager
async def pipeline(url: str, **more: Any) -> AsyncIterator[Provider]:
    """Everything that stands around every question."""
    price = {"input": 1, "output": 2}
    entry = {"id": "m", "provider": "anthropic", "baseUrl": url, "apiKey": "k", "price": price}
    plenty = {"requests_per_minute": 10**6, "tokens_per_minute": 10**9, "wait": 1}
    tree = Settings.model_validate({"models": [entry], "limits": plenty, **more})
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        catalog = build_catalog(tree, Path(folder))
        counting = build_usage_tracker(tree, build_stores(tree, Path(folder), stack), stack)
        async with open_council(tree, catalog, Path(folder), counting) as council:
            yield council


@contextlib.asynccontextmanager
async def committing() -> AsyncIterator[tuple[ThreadPoolExecutor, Callable[[], None]]]:
    """The least that adds to a sum in a file so that it lasts, in a thread of its own."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:
        database = sqlite3.connect(
            Path(folder) / "x.db", isolation_level=None, check_same_thread=False
        )
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE sums (name TEXT PRIMARY KEY, spent INTEGER) WITHOUT ROWID",
        ):
            database.execute(statement)

        def commit() -> None:
            database.execute("BEGIN IMMEDIATE")
            database.execute("SELECT spent FROM sums WHERE name = 'all'").fetchone()
            database.execute(
                "INSERT INTO sums VALUES ('all', 1) "
                "ON CONFLICT (name) DO UPDATE SET spent = spent + 1"
            )
            database.execute("COMMIT")

        yield thread, commit
        database.close()


@contextlib.asynccontextmanager
async def ways(url: str) -> AsyncIterator[dict[str, Way]]:
    import anthropic
    import openai

    async with (
        aiohttp.ClientSession() as session,
        HttpClient.open() as wire,
        pipeline(url) as council,
        pipeline(url, budget={"limit": 10**6}) as thrifty,
        committing() as (thread, commit),
        anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as claude,
        openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as gpt,
    ):

        async def sdk_anthropic() -> str:
            stream = await claude.messages.create(
                model="m",
                max_tokens=4096,
                messages=[{"role": "user", "content": "Hi"}],
                stream=True,
            )
            words = [
                event.delta.text
                async for event in stream
                if event.type == "content_block_delta" and event.delta.type == "text_delta"
            ]
            return "".join(words)

        async def sdk_openai() -> str:
            stream = await gpt.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
            )
            words = [
                chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices
            ]
            return "".join(words)

        async def committed() -> str:
            for _ in range(2):
                await asyncio.get_running_loop().run_in_executor(thread, commit)
            return WHOLE

        yield {
            "bare anthropic": lambda: bare(session, url, "anthropic"),
            "adapter anthropic": lambda: heard(adapter(wire, url, "anthropic")),
            "pipeline": lambda: heard(council),
            "budget": lambda: heard(thrifty),
            "two commits": committed,
            "sdk anthropic": sdk_anthropic,
            "bare openai": lambda: bare(session, url, "openai"),
            "adapter openai": lambda: heard(adapter(wire, url, "openai")),
            "sdk openai": sdk_openai,
        }


async def measured(url: str) -> dict[str, float]:
    taken: dict[str, list[float]] = {}
    async with ways(url) as every:
        for way in every.values():
            assert await way() == WHOLE  # noqa: S101 - and the way is warm
        gc.freeze()  # as a server does once it is up
        for _ in range(ROUNDS):
            for name, way in every.items():
                before = time.process_time()
                for _ in range(ANSWERS):
                    await way()
                spent = (time.process_time() - before) / ANSWERS * 1000
                taken.setdefault(name, []).append(spent)
    return {name: statistics.median(each) for name, each in taken.items()}


def rows() -> Iterator[Row]:
    with upstream() as url:
        cost = asyncio.run(measured(url))
    for dialect in ("anthropic", "openai"):
        bare, ours, sdk = (cost[f"{way} {dialect}"] for way in ("bare", "adapter", "sdk"))
        yield Row(f"streamed answer, {dialect}, ms CPU", bare, ours, at_most=1.5)
        yield Row(f"  the same, {dialect}'s own SDK", ours, sdk, at_least=3.0)
    ours, whole = cost["adapter anthropic"], cost["pipeline"]
    # What counts is what is added: 0.15 ms.
    yield Row("  with the whole pipeline", ours, whole, at_most=(ours + 0.15) / ours)
    # Money is set aside and settled in the database, so that it is known after a restart too.
    yield Row("  what a budget adds", cost["two commits"], cost["budget"] - whole, at_most=2.5)
