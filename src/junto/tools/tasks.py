"""Jobs as tasks, in the words of the protocol's extension `io.modelcontextprotocol/tasks`."""

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
from junto.domain.jobs import Job, State
from junto.jobs.service import Jobs
from junto.tools.slices import fitting
from junto.tools.tool import LOCAL_CALLER

EXTENSION = "io.modelcontextprotocol/tasks"
_POLL_MS = 1000

Context = ServerRequestContext[Any, Any]
Json = dict[str, Any]


class TaskParams(RequestParams):
    """What asks for a task, or wants to stop it."""

    task_id: str


class UpdateParams(TaskParams):
    """What answers a task's questions; answers to none are let pass."""

    input_responses: dict[str, Any]


def takes_tasks(context: Context) -> bool:
    """Tell whether the client of a request has said that it understands tasks."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    can = context.session.client_capabilities
    return bool(can and EXTENSION in (can.extensions or {}))


def as_new_task(job: Job, kept: float) -> Json:
    """Return the answer to a call that has become a task."""
    return {"resultType": "task", **_facts(job, kept)}


@dataclass(frozen=True, slots=True)
class Tasks:
    """Answers what clients ask about their tasks."""

    jobs: Jobs
    # For how long a job is kept after its end.
    kept: float
    # The largest reply that clients show; None where they could not ask for the rest.
    most_bytes: int | None

    async def get(self, context: Context, params: TaskParams) -> Json:
        """Return how a task stands, with its result once there is one."""
        _admitted(context, params)
        job = await self._found(params.task_id)
        facts = _detailed(job, self.kept)
        if "result" in facts and self.most_bytes is not None:
            facts["result"] = fitting(job, facts["result"], self.most_bytes)
        return facts

    async def cancel(self, context: Context, params: TaskParams) -> Json:
        """Stop a task; one that has ended stays as it is."""
        _admitted(context, params)
        await self._found(params.task_id)
        await self.jobs.cancel(LOCAL_CALLER, params.task_id, "The client cancelled the task.")
        return {}

    async def update(self, context: Context, params: UpdateParams) -> Json:
        """Hand a task the answers to what it asked."""
        _admitted(context, params)
        await self._found(params.task_id)
        await self.jobs.answer(LOCAL_CALLER, params.task_id, params.input_responses)
        return {}

    async def _found(self, task_id: str) -> Job:
        try:
            return await self.jobs.find(LOCAL_CALLER, task_id)
        except NotFoundError:
            raise MCPError(INVALID_PARAMS, f"There is no task {task_id[:80]}.") from None


def _admitted(context: Context, params: TaskParams) -> None:
    """Let pass who speaks the extension, and means the task that its headers name.

    Raises:
        MCPError: it does not.
    """
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(METHOD_NOT_FOUND, "Tasks came with version 2026-07-28 of the protocol.")
    if not takes_tasks(context):
        required: Json = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        sentence = f"Declare the extension {EXTENSION} to ask about tasks."
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, sentence, required)
    named = context.request.headers.get("mcp-name") if context.request else None
    if named is not None and decode_header_value(named) != params.task_id:
        raise MCPError(HEADER_MISMATCH, "The header Mcp-Name names another task than taskId does.")


def _facts(job: Job, kept: float) -> Json:
    # The time counts from the creation, and ours begins with the end.
    lived = (job.ended or job.updated) - job.created
    return {
        "taskId": job.id,
        "status": _status(job),
        "createdAt": _iso(job.created),
        "lastUpdatedAt": _iso(job.updated),
        "ttlMs": int((lived + kept) * 1000),
        "pollIntervalMs": _POLL_MS,
    }


def _detailed(job: Job, kept: float) -> Json:
    facts = {"resultType": "complete", **_facts(job, kept)}
    match facts["status"]:
        case "input_required":
            facts["inputRequests"] = job.asks
        case "completed":
            facts["result"] = {"resultType": "complete", **(job.result or {})}
        case "failed":
            facts["error"] = _error(job.error or {})
            facts["statusMessage"] = facts["error"]["message"]
        case "cancelled" if job.error:
            facts["statusMessage"] = str(job.error.get("message"))
    return facts


def _status(job: Job) -> str:
    match job.state:
        case State.QUEUED | State.RUNNING:
            return "input_required" if job.asks else "working"
        case State.CANCELLED:
            return "cancelled"
        case _:
            # A tool that failed has a result that says so; only without any the task failed.
            return "completed" if job.result is not None else "failed"


def _error(facts: Mapping[str, Any]) -> Json:
    code = facts.get("code")
    number = code if isinstance(code, int) else INTERNAL_ERROR
    return {"code": number, "message": str(facts.get("message", "")), "data": {"code": str(code)}}


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
