"""What a run of Claude Code takes of the processor through Junto, against the bare SDK."""

import asyncio
import os
import resource
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import claude_agent_sdk
from tests.server_upstream import served_upstream

from bench.rows import Row
from junto.agent.house import House
from junto.agent.options import Options
from junto.agent.places import Places
from junto.agent.program import Access, found
from junto.agent.run import Order, Permission
from junto.agent.service import Agent
from junto.security.paths import Roots
from junto.storage.lazily import Lazily
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.sessions import SqliteSessions
from junto.telemetry.metrics import Metrics

PROMPT = 'steps [{"name": "Bash", "input": {"command": "echo hi"}}, {"text": "done"}]'
ROUNDS = 7
LIMIT = 1.25


def rows() -> Iterator[Row]:
    bare, ours = asyncio.run(_measured())
    yield Row("a run with one command, ms CPU", bare, ours, at_most=LIMIT)


async def _measured() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, served_upstream() as upstream:
        work = Path(folder)
        async with AsyncExitStack() as stack:
            store = SqliteSessions(Lazily(lambda: Database.opened(work / "x.db"), stack))
            agent = Agent(
                house=House(
                    program=str(found(None)),
                    roots=Roots.of((work,)),
                    access=lambda: Access(key="k", base_url=upstream.url),
                    base=work / "runs",
                    store=store,
                    clean=str,
                    environment=os.environ,
                ),
                store=store,
                places=Places(1, 0),
                metrics=Metrics(),
            )
            pairs = [
                (
                    await _cpu(lambda: _bare(work, upstream.url)),
                    await _cpu(lambda: _through(agent, work)),
                )
                for _ in range(ROUNDS + 1)
            ][1:]  # the first of each warms up
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    return first, second


async def _cpu(run: Callable[[], Awaitable[None]]) -> float:
    """Return the milliseconds that a run takes, here and in all processes that it starts."""
    before = _used()
    await run()
    return (_used() - before) * 1000


def _used() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(each.ru_utime + each.ru_stime for each in map(resource.getrusage, kinds))


async def _bare(work: Path, url: str) -> None:
    options = claude_agent_sdk.ClaudeAgentOptions(
        cwd=work,
        setting_sources=[],
        allowed_tools=["Bash"],
        system_prompt={"type": "preset", "preset": "claude_code"},
        env={
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": str(work / "config"),
        },
    )
    async with claude_agent_sdk.ClaudeSDKClient(options) as client:
        await client.query(PROMPT)
        async for _ in client.receive_response():
            pass


async def _through(agent: Agent, work: Path) -> None:
    order = Order(owner="bench", content=[{"type": "text", "text": PROMPT}])
    await agent.run(order, Options(cwd=str(work), allowed_tools=("Bash",)), _Nobody())


class _Nobody:
    """Listens to nothing."""

    def notes(self, note: str) -> None: ...
    def says(self, words: str) -> None: ...
    def tells(self, facts: Mapping[str, Any]) -> None: ...
    def uses(self, usage: Mapping[str, Any]) -> None: ...
    def keeps(self, facts: Mapping[str, Any]) -> None: ...
    async def permits(self, _question: str) -> Permission:
        return Permission.NOBODY

    def listens(self, take: Callable[[str], None] | None) -> None: ...
