"""The pipeline around a tool call: its order, its length, and how failures leave it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams

from junto.domain.errors import JuntoError, NetworkError, PermissionDeniedError, TimeLimitError
from junto.jobs.service import JobService
from junto.security.redaction import Redactor
from junto.telemetry.logs import LogSinks, configure_logging
from junto.telemetry.metrics import Metrics
from junto.tools.base import LongRunningArguments, Result
from junto.tools.builtin.jobs import build_job_tool
from junto.tools.job_calls import JobCalls
from junto.tools.middleware import TOOL_PIPELINE, CallServices, allow_all
from junto.tools.registry import Registry
from junto.tools.tasks import TASKS_EXTENSION
from junto.tools.tool import LOCAL_CALLER, CallContext, Group, Tool
from tests.jobs.job_services import open_job_service

Run = Callable[[LongRunningArguments, CallContext], Any]


class Done(Result):
    """Result of the tools here."""

    word: str = "done"


class FakeSession:
    """A client that accepts everything, and declares the tasks extension if it should."""

    def __init__(self, *, tasks: bool) -> None:
        extensions: dict[str, Any] | None = {TASKS_EXTENSION: {}} if tasks else None
        self.client_capabilities = SimpleNamespace(extensions=extensions, sampling=None)

    async def report_progress(self, *_: Any) -> None: ...
    async def send_notification(self, *_: Any, **__: Any) -> None: ...


def build_context(*, tasks: bool = False) -> Any:
    return SimpleNamespace(
        meta=None,
        session=FakeSession(tasks=tasks),
        protocol_version="2026-07-28" if tasks else "2025-06-18",
        request=None,
        request_id=1,
    )


def build_tool(run: Run, *, is_long_running: bool = False) -> Tool[LongRunningArguments]:
    return Tool(
        name="work",
        title="Work",
        description="Works.",
        group=Group.KIT,
        arguments=LongRunningArguments,
        result=Done,
        run=run,
        is_long_running=is_long_running,
    )


@dataclass
class Server:
    """A registry with real jobs, and what it counts."""

    jobs: JobService
    metrics: Metrics = field(default_factory=Metrics)
    wait_seconds: float = 30.0
    authorize: Callable[[CallContext], None] = allow_all

    def build_registry(self, *tools: Tool[Any]) -> Registry:
        redactor = Redactor(["planted-secret"])
        job_calls = JobCalls(
            jobs=self.jobs,
            redactor=redactor,
            wait_seconds=self.wait_seconds,
            task_wait_seconds=0.0,
            retention_seconds=60.0,
            max_reply_bytes=60_000,
        )
        services = CallServices(
            metrics=self.metrics,
            redactor=redactor,
            job_calls=job_calls,
            authorize=self.authorize,
        )
        return Registry((*tools, build_job_tool(self.jobs, 60_000)), services=services)

    async def call(self, tool: Tool[Any], *, tasks: bool = False, **arguments: Any) -> Any:
        registry = self.build_registry(tool)
        params = CallToolRequestParams(name=tool.name, arguments=arguments)
        return await registry.handle(registry.build_call(build_context(tasks=tasks), params))

    def count(self, outcome: str) -> float:
        labels = {"tool": "work", "outcome": outcome}
        return self.metrics.registry.get_sample_value("mcp_tool_calls_total", labels) or 0.0


@asynccontextmanager
async def open_server(folder: Path, **options: Any) -> AsyncIterator[Server]:
    async with open_job_service(folder) as jobs:
        yield Server(jobs, **options)


def frames_between(frame: FrameType | None, outermost: str) -> list[str]:
    """Return the functions that called `frame`, up to the one called `outermost` or to its task."""
    found = []
    while frame and (frame := frame.f_back):
        name = frame.f_code.co_qualname
        if frame.f_code.co_filename.endswith("events.py") or name.endswith(outermost):
            break
        found.append(name)
    return found


@pytest.mark.parametrize("is_long_running", [False, True])
async def test_a_call_makes_one_hop_per_middleware_and_at_most_two_more(
    tmp_path: Path, *, is_long_running: bool
) -> None:
    stacks: list[list[str]] = []

    async def run(_arguments: LongRunningArguments, _call: CallContext) -> Done:
        stacks.append(frames_between(sys._getframe(), "Server.call"))
        return Done()

    def record_start(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code is JobService.start.__code__:
            stacks.append(frames_between(frame, "Server.call"))

    async with open_server(tmp_path) as server:
        sys.setprofile(record_start)
        try:
            await server.call(build_tool(run, is_long_running=is_long_running))
        finally:
            sys.setprofile(None)

    hops = [name for stack in stacks for name in stack]
    middleware = [f"{each.__name__}.__call__" for each in TOOL_PIPELINE]
    assert [name for name in hops if name.endswith("__call__")] == middleware[::-1]
    others = [name for name in hops if not name.endswith(("__call__", "JobCalls.start"))]
    assert len(others) <= 2, others


class Mode:
    """A way to call a tool, and to get its result."""

    @staticmethod
    async def direct(server: Server, work: Tool[Any], proceed: asyncio.Event) -> Any:
        proceed.set()
        return await server.call(work)

    @staticmethod
    async def handover(server: Server, work: Tool[Any], proceed: asyncio.Event) -> Any:
        server.wait_seconds = 0.01
        return await _finish_job(server, await server.call(work), proceed)

    @staticmethod
    async def background(server: Server, work: Tool[Any], proceed: asyncio.Event) -> Any:
        return await _finish_job(server, await server.call(work, background=True), proceed)

    @staticmethod
    async def task(server: Server, work: Tool[Any], proceed: asyncio.Event) -> Any:
        return await _finish_job(server, await server.call(work, tasks=True), proceed)


async def _finish_job(server: Server, reply: Any, proceed: asyncio.Event) -> Any:
    """Let a job that was handed over proceed, and return its result."""
    id_ = reply.get("taskId") or reply["structuredContent"]["jobId"]
    proceed.set()
    job = await server.jobs.wait_until_done(LOCAL_CALLER, id_, 30)
    return job.result


MODES = [Mode.direct, Mode.handover, Mode.background, Mode.task]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__)
@pytest.mark.parametrize(
    "error",
    [
        NetworkError("The line to planted-secret is dead.", retry_after=3.0),
        TimeLimitError("Too late.", details={"sessionId": "s-1"}),
    ],
    ids=["network", "timeout"],
)
async def test_a_failure_has_one_result_one_log_line_one_audit_line_and_one_metric(
    tmp_path: Path, mode: Any, error: JuntoError
) -> None:
    proceed = asyncio.Event()

    async def run(_arguments: LongRunningArguments, _call: CallContext) -> Done:
        await proceed.wait()
        raise error

    logs = tmp_path / "logs"
    with configure_logging(LogSinks("info", stderr=False, directory=logs), Redactor()):
        async with open_server(tmp_path) as server:
            result = await mode(server, build_tool(run, is_long_running=True), proceed)

    content = result["structuredContent"]
    expected = {"code": error.code, "retryable": error.retryable, **error.details}
    assert result["isError"]
    assert "planted-secret" not in json.dumps(result)
    assert content == expected | {"message": content["message"]} | (
        {"retryAfter": 3.0} if error.retry_after else {}
    )
    lines = [json.loads(line) for line in (logs / "tools.log").read_text().splitlines()]
    failures = [line for line in lines if line["level"] != "debug"]
    assert [(line["event"], line["code"]) for line in failures] == [("tool failed", error.code)]
    audit = [json.loads(line) for line in (logs / "audit.log").read_text().splitlines()]
    assert [(line["tool"], line["outcome"]) for line in audit] == [("work", error.code)]
    assert server.count(error.code) == 1
    assert server.count("ok") == 0


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__)
async def test_a_success_is_counted_once_however_it_was_called(tmp_path: Path, mode: Any) -> None:
    proceed = asyncio.Event()

    async def run(_arguments: LongRunningArguments, _call: CallContext) -> Done:
        await proceed.wait()
        return Done()

    async with open_server(tmp_path) as server:
        result = await mode(server, build_tool(run, is_long_running=True), proceed)

    assert result["structuredContent"] == {"word": "done"}
    assert server.count("ok") == 1


@pytest.mark.parametrize("is_long_running", [False, True])
async def test_a_bug_is_logged_once_and_its_details_are_not_shown_to_the_client(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_long_running: bool
) -> None:
    async def run(_arguments: LongRunningArguments, _call: CallContext) -> Done:
        raise ZeroDivisionError("a secret detail")

    async with open_server(tmp_path) as server:
        with pytest.raises(MCPError, match="Something failed inside Junto") as caught:
            await server.call(build_tool(run, is_long_running=is_long_running))

    assert "secret" not in str(caught.value)
    assert server.count("Crash") == 1
    assert [record.message for record in caplog.records].count("tool crashed") == 1


async def test_an_unauthorized_call_is_refused_before_the_tool_runs(tmp_path: Path) -> None:
    ran = []

    async def run(_arguments: LongRunningArguments, _call: CallContext) -> Done:
        ran.append(True)
        return Done()

    def refuse(call: CallContext) -> None:
        raise PermissionDeniedError(f"{call.caller} may not call {call.tool_name}.")

    async with open_server(tmp_path, authorize=refuse) as server:
        result = await server.call(build_tool(run))

    assert result["structuredContent"]["code"] == "PermissionDenied"
    assert ran == []
    assert server.count("PermissionDenied") == 1


async def test_a_cancelled_call_is_counted_as_cancelled(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def run(_arguments: LongRunningArguments, _call: CallContext) -> Done:
        started.set()
        await asyncio.Event().wait()
        return Done()

    async with open_server(tmp_path) as server:
        task = asyncio.create_task(server.call(build_tool(run, is_long_running=True)))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert server.count("Cancelled") == 1
    assert server.count("ok") == 0
