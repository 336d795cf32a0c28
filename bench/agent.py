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
from tests.fake_model_server import fake_model_server

from bench.rows import Row
from junto.agent.claude_cli import ClaudeCredentials, find_program
from junto.agent.launcher import Launcher
from junto.agent.options import RunOptions
from junto.agent.run import AgentRequest, Permission
from junto.agent.run_queue import RunQueue
from junto.agent.service import AgentService
from junto.runtime.lazy import Lazy
from junto.security.paths import Roots
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.sessions import SqliteSessions
from junto.telemetry.metrics import Metrics

PROMPT = 'steps [{"name": "Bash", "input": {"command": "echo hi"}}, {"text": "done"}]'
ROUNDS = 7
LIMIT = 1.25


def rows() -> Iterator[Row]:
    bare, ours = asyncio.run(_measured())
    yield Row("a run with one command, ms CPU", bare, ours, at_most=LIMIT)


async def _measured() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, fake_model_server() as upstream:
        work = Path(folder)
        async with AsyncExitStack() as stack:
            store = SqliteSessions(Lazy(lambda: SqliteDatabase.open(work / "x.db"), stack))
            agent = AgentService(
                launcher=Launcher(
                    program_path=str(find_program(None)),
                    roots=Roots.from_paths((work,)),
                    get_credentials=lambda: ClaudeCredentials(api_key="k", base_url=upstream.url),
                    base_dir=work / "runs",
                    store=store,
                    redact=str,
                    environment=os.environ,
                ),
                store=store,
                queue=RunQueue(1, 0),
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


async def _through(agent: AgentService, work: Path) -> None:
    order = AgentRequest(owner="bench", content=[{"type": "text", "text": PROMPT}])
    await agent.run(order, RunOptions(cwd=str(work), allowed_tools=("Bash",)), _Nobody())


class _Nobody:
    """Listens to nothing."""

    def on_status(self, status: str) -> None: ...
    def on_text(self, text: str) -> None: ...
    def on_message(self, message: Mapping[str, Any]) -> None: ...
    def on_usage(self, usage: Mapping[str, Any]) -> None: ...
    def on_partial(self, result: Mapping[str, Any]) -> None: ...
    async def ask_permission(self, _question: str) -> Permission:
        return Permission.UNAVAILABLE

    def set_inbox(self, inbox: Callable[[str], None] | None) -> None: ...
