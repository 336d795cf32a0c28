"""Jobs as MCP tasks: the protocol extension `io.modelcontextprotocol/tasks`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import decode_header_value
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    RequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from junto.domain.errors import NotFoundError
from junto.domain.jobs import Job, JobState
from junto.jobs.service import JobService
from junto.tools.result_paging import truncate_result
from junto.tools.tool import LOCAL_CALLER

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
_POLL_INTERVAL_MS = 1000

_Context = ServerRequestContext[Any, Any]
_Json = dict[str, Any]


class TaskParams(RequestParams):
    """Parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """Parameters of `tasks/update`; responses to unknown requests are ignored."""

    input_responses: dict[str, Any]


def supports_tasks(context: _Context) -> bool:
    """Return whether the client of a request declared support for tasks."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = context.session.client_capabilities
    return bool(capabilities and TASKS_EXTENSION in (capabilities.extensions or {}))


def build_task_result(job: Job, retention_seconds: float) -> _Json:
    """Return the result of a tool call that continues as a task."""
    return {"resultType": "task", **_build_task(job, retention_seconds)}


@dataclass(frozen=True, slots=True)
class Tasks:
    """Handlers of the `tasks/*` methods."""

    jobs: JobService
    # Seconds a job is kept after it has ended.
    retention_seconds: float
    # Maximum size of a result; None (no limit) if the `job` tool, which returns the rest, is off.
    max_reply_bytes: int | None

    async def get(self, context: _Context, params: TaskParams) -> _Json:
        """Return the state of a task, with its result once it has one."""
        _check_request(context, params)
        job = await self._find_job(params.task_id)
        task = _build_detailed_task(job, self.retention_seconds)
        if "result" in task and self.max_reply_bytes is not None:
            task["result"] = truncate_result(job, task["result"], self.max_reply_bytes)
        return task

    async def cancel(self, context: _Context, params: TaskParams) -> _Json:
        """Cancel a task; a task that has ended does not change."""
        _check_request(context, params)
        await self._find_job(params.task_id)
        await self.jobs.cancel(LOCAL_CALLER, params.task_id, "The client cancelled the task.")
        return {}

    async def update(self, context: _Context, params: UpdateTaskParams) -> _Json:
        """Pass the client's input responses to a task."""
        _check_request(context, params)
        await self._find_job(params.task_id)
        await self.jobs.answer(LOCAL_CALLER, params.task_id, params.input_responses)
        return {}

    async def _find_job(self, task_id: str) -> Job:
        try:
            return await self.jobs.find(LOCAL_CALLER, task_id)
        except NotFoundError:
            raise MCPError(INVALID_PARAMS, f"There is no task {task_id[:80]}.") from None


def _check_request(context: _Context, params: TaskParams) -> None:
    """Check that the client supports tasks and that the Mcp-Name header matches the task id.

    Raises:
        MCPError: the check failed.
    """
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(METHOD_NOT_FOUND, "Tasks came with version 2026-07-28 of the protocol.")
    if not supports_tasks(context):
        required: _Json = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}
        message = f"Declare the extension {TASKS_EXTENSION} to ask about tasks."
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, required)
    header = context.request.headers.get("mcp-name") if context.request else None
    if header is not None and decode_header_value(header) != params.task_id:
        raise MCPError(HEADER_MISMATCH, "The header Mcp-Name names another task than taskId does.")


def _build_task(job: Job, retention_seconds: float) -> _Json:
    # A task's TTL counts from its creation, but the retention of a job from its end.
    duration = (job.ended or job.updated) - job.created
    return {
        "taskId": job.id,
        "status": _map_status(job),
        "createdAt": _format_time(job.created),
        "lastUpdatedAt": _format_time(job.updated),
        "ttlMs": int((duration + retention_seconds) * 1000),
        "pollIntervalMs": _POLL_INTERVAL_MS,
    }


def _build_detailed_task(job: Job, retention_seconds: float) -> _Json:
    task = {"resultType": "complete", **_build_task(job, retention_seconds)}
    match task["status"]:
        case "input_required":
            task["inputRequests"] = job.asks
        case "completed":
            task["result"] = {"resultType": "complete", **(job.result or {})}
        case "failed":
            task["error"] = _build_error(job.error or {})
            task["statusMessage"] = task["error"]["message"]
        case "cancelled" if job.error:
            task["statusMessage"] = str(job.error.get("message"))
    return task


def _map_status(job: Job) -> str:
    match job.state:
        case JobState.QUEUED | JobState.RUNNING:
            return "input_required" if job.asks else "working"
        case JobState.CANCELLED:
            return "cancelled"
        case _:
            # A failed tool has a result with isError; the task only failed if there is no result.
            return "completed" if job.result is not None else "failed"


def _build_error(job_error: Mapping[str, Any]) -> _Json:
    code = job_error.get("code")
    jsonrpc_code = code if isinstance(code, int) else INTERNAL_ERROR
    return {
        "code": jsonrpc_code,
        "message": str(job_error.get("message", "")),
        "data": {"code": str(code)},
    }


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
