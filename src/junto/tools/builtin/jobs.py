"""The tool `job`: what became of a call that went on without its caller."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

from pydantic import Field
from typing_extensions import override

from junto.domain.errors import InvalidInputError
from junto.domain.jobs import Entry, Job, Kind, State
from junto.jobs.service import Jobs
from junto.jobs.watching import BEAT
from junto.tools.slices import Slice, result_text
from junto.tools.tool import Arguments, Call, Group, Hints, Result, Tool

_MOST_LISTED = 20
_MOST_EVENTS = 100
_MOST_WAIT = 45
_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)


class Action(StrEnum):
    """What to do about a job."""

    STATUS = "status"
    RESULT = "result"
    EVENTS = "events"
    SEND = "send"
    CANCEL = "cancel"


class JobArguments(Arguments):
    """Arguments of `job`."""

    job_id: str | None = Field(
        None, max_length=128, description="Without it, your latest jobs are listed."
    )
    action: Action = Action.STATUS
    message: str | None = Field(None, max_length=100_000, description="What to send to an agent.")
    cursor: int = Field(0, ge=0, lt=2**53, description="Of the page before.")
    wait_seconds: float = Field(0, ge=0, le=_MOST_WAIT, description="Wait so long for its end.")


class JobEvent(Result):
    """One entry of a job's log."""

    sequence: int
    at: str
    kind: str
    data: Any

    @classmethod
    def of(cls, entry: Entry, most_bytes: int | None = None) -> "JobEvent":
        """Return an entry as it is shown, or its beginning."""
        data = json.loads(entry.text) if entry.kind is Kind.MESSAGE else entry.text
        if most_bytes is not None:
            data = f"{Slice.of(entry.text, 0, most_bytes).text} … (cut)"
        return cls(sequence=entry.sequence, at=_iso(entry.at), kind=entry.kind, data=data)


class JobFacts(Result):
    """How a job stands."""

    job_id: str | None = None
    tool: str | None = None
    state: str | None = None
    created: str | None = None
    seconds: float | None = None
    usage: Any = None
    error: Any = None

    @classmethod
    def of(cls, job: Job, **more: Any) -> Self:
        """Return how `job` stands, and more."""
        return cls(
            job_id=job.id,
            tool=job.tool,
            state=job.state,
            created=_iso(job.created),
            seconds=round(job.seconds, 1),
            usage=dict(job.usage) if job.usage else None,
            error=dict(job.error) if job.error else None,
            **more,
        )

    def line(self) -> str:
        """Return it in a few words."""
        why = f": {self.error['message']}" if self.error and "message" in self.error else ""
        return f"job {self.job_id} ({self.tool}) {self.state} after {self.seconds} s{why}"


class JobReport(JobFacts):
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
        """Return the result first, then how the job stands."""
        if self.jobs is not None:
            return "\n".join(each.line() for each in self.jobs) or "There are no jobs."
        events = [f"{each.sequence}. [{each.kind}] {each.data}" for each in self.events or ()]
        return "\n\n".join(
            filter(None, [self.response, "\n".join(events), self.notice, f"[{self.line()}]"])
        )


def job(jobs: Jobs, most_bytes: int) -> Tool[JobArguments]:
    """Return the tool that tells of jobs."""

    async def run(arguments: JobArguments, call: Call) -> JobReport:
        if arguments.job_id is None:
            if arguments.action is not Action.STATUS:
                raise InvalidInputError(f"jobId is required to {arguments.action}.")
            recent = await jobs.recent(call.caller, _MOST_LISTED)
            return JobReport(jobs=[JobFacts.of(each) for each in recent])
        found = await _found(jobs, arguments, call)
        match arguments.action:
            case Action.RESULT:
                return await _result(jobs, found, arguments.cursor, most_bytes)
            case Action.EVENTS:
                return await _events(jobs, found, arguments.cursor, most_bytes)
            case _:
                return JobReport.of(found, notice=_next(found))

    return Tool(
        name="job",
        title="Job",
        description="A call in the background: its state, result, events; cancel it, send to it.",
        group=Group.AGENT,
        arguments=JobArguments,
        result=JobReport,
        run=run,
        hints=_HINTS,
    )


async def _found(jobs: Jobs, arguments: JobArguments, call: Call) -> Job:
    id_ = arguments.job_id or ""
    if arguments.action is Action.CANCEL:
        return await jobs.cancel(call.caller, id_, "It was cancelled with `job`.")
    if arguments.action is Action.SEND:
        if not (arguments.message or "").strip():
            raise InvalidInputError("message is required to send one.")
        return await jobs.send(call.caller, id_, arguments.message or "")
    job, left, steps = await jobs.find(call.caller, id_), arguments.wait_seconds, 0
    while left > 0 and not job.state.final:
        job = await jobs.awaited(call.caller, id_, min(left, BEAT))
        left, steps = left - BEAT, steps + 1
        await call.progress(steps, message=f"{job.tool}: {job.state} for {job.seconds:.0f} s")
    return job


async def _result(jobs: Jobs, job: Job, cursor: int, most_bytes: int) -> JobReport:
    whole = await jobs.text(job) if job.state is not State.COMPLETED else ""
    if not whole and job.result is not None:
        whole = result_text(job.result)
    part = Slice.of(whole, cursor, most_bytes)
    facts = (job.result or {}).get("structuredContent")
    # What fits into one piece comes with its facts; a longer one is its text.
    fits = facts is not None and len(json.dumps(facts, ensure_ascii=False)) <= most_bytes // 4
    return JobReport.of(
        job,
        response=part.text,
        cursor=part.cursor,
        total=part.total,
        result=facts if fits and cursor == 0 else None,
        notice=part.onward(job.id) or _next(job),
    )


async def _events(jobs: Jobs, job: Job, after: int, most_bytes: int) -> JobReport:
    shown: list[JobEvent] = []
    room = most_bytes
    for entry in await jobs.entries(job, after, _MOST_EVENTS):
        size = len(entry.text.encode("utf-8", "replace"))
        if shown and size > room:
            break
        shown.append(JobEvent.of(entry, room if size > room else None))
        room -= size
    return JobReport.of(job, events=shown, cursor=shown[-1].sequence if shown else after)


def _next(job: Job) -> str | None:
    if job.state.final:
        return None
    return "It is still under way; waitSeconds lets `job` wait for its end."


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
