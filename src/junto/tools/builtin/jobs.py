"""The tool `job`: status, result, events, messages and cancellation of background calls."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

from pydantic import Field
from typing_extensions import override

from junto.domain.errors import InvalidInputError
from junto.domain.jobs import Job, JobLogEntry, JobLogKind, JobState
from junto.jobs.service import JobService
from junto.jobs.subscription import HEARTBEAT_SECONDS
from junto.tools.base import Arguments, Result
from junto.tools.result_paging import TextSlice, extract_text
from junto.tools.services import ToolServices
from junto.tools.tool import CallContext, Group, Hints, Tool

_MAX_LISTED_JOBS = 20
_MAX_EVENTS = 100
_MAX_WAIT_SECONDS = 45
_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    yield build_job_tool(services.jobs, services.settings.jobs.reply_bytes)


class JobAction(StrEnum):
    """An action of the `job` tool."""

    STATUS = "status"
    RESULT = "result"
    EVENTS = "events"
    SEND = "send"
    CANCEL = "cancel"


class JobArguments(Arguments):
    """Arguments of `job`."""

    job_id: str | None = Field(
        None, max_length=128, description="Job to look at. Omit it to list your latest jobs."
    )
    action: JobAction = Field(JobAction.STATUS, description="What to do.")
    message: str | None = Field(
        None, max_length=100_000, description="For send: message to a running agent."
    )
    cursor: int = Field(0, ge=0, lt=2**53, description="Cursor from the previous page.")
    wait_seconds: float = Field(
        0, ge=0, le=_MAX_WAIT_SECONDS, description="How long to wait for the job to end."
    )


class JobEvent(Result):
    """One entry of a job's log."""

    sequence: int
    at: str
    kind: str
    data: Any

    @classmethod
    def from_entry(cls, entry: JobLogEntry, max_bytes: int | None = None) -> "JobEvent":
        """Return a log entry as an event, cut to `max_bytes` if that is given."""
        data = json.loads(entry.text) if entry.kind is JobLogKind.MESSAGE else entry.text
        if max_bytes is not None:
            data = f"{TextSlice.from_text(entry.text, 0, max_bytes).text} … (cut)"
        return cls(sequence=entry.sequence, at=_format_time(entry.at), kind=entry.kind, data=data)


class JobSummary(Result):
    """The state of a job."""

    job_id: str | None = None
    tool: str | None = None
    state: str | None = None
    created: str | None = None
    seconds: float | None = None
    usage: Any = None
    error: Any = None

    @classmethod
    def from_job(cls, job: Job, **extra: Any) -> Self:
        """Return the state of `job`, with additional fields."""
        return cls(
            job_id=job.id,
            tool=job.tool,
            state=job.state,
            created=_format_time(job.created),
            seconds=round(job.elapsed_seconds, 1),
            usage=dict(job.usage) if job.usage else None,
            error=dict(job.error) if job.error else None,
            **extra,
        )

    def format_line(self) -> str:
        """Return the state of the job as one line."""
        reason = f": {self.error['message']}" if self.error and "message" in self.error else ""
        return f"job {self.job_id} ({self.tool}) {self.state} after {self.seconds} s{reason}"


class JobResult(JobSummary):
    """Result of `job`."""

    response: str | None = None
    result: Any = None
    events: list[Any] | None = None
    cursor: int | None = None
    total: int | None = None
    jobs: list[Any] | None = None
    notice: str | None = None

    @override
    def text(self) -> str:
        """Return the result, then the state of the job."""
        if self.jobs is not None:
            return "\n".join(each.format_line() for each in self.jobs) or "There are no jobs."
        events = [f"{each.sequence}. [{each.kind}] {each.data}" for each in self.events or ()]
        return "\n\n".join(
            filter(None, [self.response, "\n".join(events), self.notice, f"[{self.format_line()}]"])
        )


def build_job_tool(jobs: JobService, max_reply_bytes: int) -> Tool[JobArguments]:
    """Build the `job` tool."""

    async def run(arguments: JobArguments, call: CallContext) -> JobResult:
        if arguments.job_id is None:
            if arguments.action is not JobAction.STATUS:
                raise InvalidInputError(f"jobId is required to {arguments.action}.")
            recent = await jobs.list_recent(call.caller, _MAX_LISTED_JOBS)
            return JobResult(jobs=[JobSummary.from_job(each) for each in recent])
        job = await _apply_action(jobs, arguments, call)
        match arguments.action:
            case JobAction.RESULT:
                return await _build_result(jobs, job, arguments.cursor, max_reply_bytes)
            case JobAction.EVENTS:
                return await _build_events(jobs, job, arguments.cursor, max_reply_bytes)
            case _:
                return JobResult.from_job(job, notice=_format_notice(job))

    return Tool(
        name="job",
        title="Job",
        description=(
            "Look at a call that runs in the background: its status, result or events. Also "
            "cancels it, or sends a further message to a running Claude Code."
        ),
        group=Group.AGENT,
        arguments=JobArguments,
        result=JobResult,
        run=run,
        hints=_HINTS,
        instructions=("A call that takes long continues as a job; read its result with job."),
        for_models=False,
        for_council=True,
    )


async def _apply_action(jobs: JobService, arguments: JobArguments, call: CallContext) -> Job:
    id_ = arguments.job_id or ""
    if arguments.action is JobAction.CANCEL:
        return await jobs.cancel(call.caller, id_, "It was cancelled with `job`.")
    if arguments.action is JobAction.SEND:
        if not (arguments.message or "").strip():
            raise InvalidInputError("message is required to send one.")
        return await jobs.send(call.caller, id_, arguments.message or "")
    job, seconds_left, steps = await jobs.find(call.caller, id_), arguments.wait_seconds, 0
    while seconds_left > 0 and not job.state.is_final:
        job = await jobs.wait_until_done(call.caller, id_, min(seconds_left, HEARTBEAT_SECONDS))
        seconds_left, steps = seconds_left - HEARTBEAT_SECONDS, steps + 1
        await call.report_progress(
            steps, message=f"{job.tool}: {job.state} for {job.elapsed_seconds:.0f} s"
        )
    return job


async def _build_result(jobs: JobService, job: Job, cursor: int, max_bytes: int) -> JobResult:
    text = await jobs.text(job) if job.state is not JobState.COMPLETED else ""
    if not text and job.result is not None:
        text = extract_text(job.result)
    part = TextSlice.from_text(text, cursor, max_bytes)
    structured = (job.result or {}).get("structuredContent")
    # Structured content is only included if it is small, and only with the first slice.
    fits = (
        structured is not None and len(json.dumps(structured, ensure_ascii=False)) <= max_bytes // 4
    )
    return JobResult.from_job(
        job,
        response=part.text,
        cursor=part.cursor,
        total=part.total,
        result=structured if fits and cursor == 0 else None,
        notice=part.format_next_hint(job.id) or _format_notice(job),
    )


async def _build_events(jobs: JobService, job: Job, after: int, max_bytes: int) -> JobResult:
    events: list[JobEvent] = []
    bytes_left = max_bytes
    for entry in await jobs.list_entries(job, after, _MAX_EVENTS):
        size = len(entry.text.encode("utf-8", "replace"))
        if events and size > bytes_left:
            break
        events.append(JobEvent.from_entry(entry, bytes_left if size > bytes_left else None))
        bytes_left -= size
    return JobResult.from_job(job, events=events, cursor=events[-1].sequence if events else after)


def _format_notice(job: Job) -> str | None:
    if job.state.is_final:
        return None
    return "It is still under way; waitSeconds lets `job` wait for its end."


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
