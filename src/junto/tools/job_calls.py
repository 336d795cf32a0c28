"""Calls of long-running tools: each runs as a job, and the request only watches it.

A client waits for a limited time. If the job takes longer, the request is answered with how to find
the job (or with a task, for clients that know tasks), and the job goes on.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from mcp.shared.exceptions import MCPError

from junto.domain.errors import (
    CancelledCallError,
    InputOutputError,
    InvalidInputError,
    JuntoError,
    TimeLimitError,
)
from junto.domain.jobs import Job, JobState
from junto.jobs.handle import JobHandle, JobOutcome
from junto.jobs.service import JobService
from junto.jobs.subscription import JobSubscription
from junto.providers.sampling import current_sampler
from junto.security.redaction import Redactor
from junto.telemetry.logs import Log
from junto.tools.client_requests import build_sampler
from junto.tools.errors import build_error_result, build_internal_error
from junto.tools.result_paging import TextSlice, to_json, truncate_result
from junto.tools.tasks import build_task_result, supports_tasks
from junto.tools.tool import CallContext

_log = Log.get("tools")

_JsonObject = dict[str, Any]

# Fields of a failure that are stored with the state of its job; the rest is in its result.
_PUBLIC_ERROR_FIELDS = ("code", "message", "retryable", "retryAfter", "sessionId")
# Delay before another attempt to hand over a job whose record could not be saved.
_RETRY_DELAY_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCalls:
    """Runs calls as jobs, and hands a job over to the client that does not wait for its end."""

    jobs: JobService
    redactor: Redactor
    # Seconds a client waits before the call is handed over; fewer for one that knows tasks.
    wait_seconds: float
    task_wait_seconds: float
    # Seconds a job is kept after its end.
    retention_seconds: float
    # The largest reply that clients show.
    max_reply_bytes: int
    # Whether clients have the tool `job`, with which they find what was handed over.
    has_job_tool: bool = False

    def start(
        self,
        call: CallContext,
        handler: Callable[[CallContext], Awaitable[_JsonObject]],
        digest: str,
    ) -> JobHandle:
        """Start `handler` as a job, or return the one that waits for the answers in this call.

        Raises:
            InvalidInputError: the call asks for the background, and nothing could find it there.
        """
        if _is_background(call) and not (supports_tasks(call.context) or self.has_job_tool):
            raise InvalidInputError(
                "background: the tool `job`, which would tell the rest, is switched off here."
            )

        def run(handle: JobHandle) -> Awaitable[_JsonObject]:
            job_call = replace(call, job=handle)
            current_sampler.set(build_sampler(job_call))  # in the context of the job's own task
            return handler(job_call)

        return self._resume(call) or self.jobs.start(
            call.caller, call.tool_name, digest, run, self._build_failed_outcome
        )

    async def wait(self, handle: JobHandle, call: CallContext) -> _JsonObject:
        """Return the result of a job or, if the client does not wait for it, the job itself.

        Raises:
            Exception: whatever the handler raised before the job was handed over.
        """
        tasks, background = supports_tasks(call.context), _is_background(call)
        wait_seconds = (
            self.task_wait_seconds if tasks else self.wait_seconds if self.has_job_tool else None
        )
        try:
            if not background:
                await self._forward_until_done(handle, call, wait_seconds)
                if handle.ended.is_set():
                    return await self._build_reply(handle)
                if handle.job.asks and not tasks:
                    return _build_input_required(handle.job)
            partial_text = "" if tasks or background else await self.jobs.text(handle.job)
            await self.jobs.detach(handle)
        except BaseException:
            # The client never learns of the job, so it must not go on.
            handle.stop("The client cancelled the call, or hung up.")
            raise
        # No await from here on, so nothing can come between the hand-over and the reply.
        call.outcome.is_deferred = True
        handle.add_end_callback(lambda: call.outcome.report(_get_error(handle)))
        if tasks:
            return build_task_result(handle.job, self.retention_seconds)
        return self._build_job_reply(handle.job, partial_text)

    def _resume(self, call: CallContext) -> JobHandle | None:
        """Return the job that waits for the answers in this call, or None for a new call.

        Raises:
            InvalidInputError: that job is not running here any more.
        """
        state = call.params.request_state
        if state is None:
            return None
        handle = self.jobs.get_handle(call.caller, state)
        if handle is None or handle.job.tool != call.tool_name:
            raise InvalidInputError("requestState: the call that it belongs to is over. Ask anew.")
        responses = call.params.input_responses or {}
        handle.receive_answers({key: to_json(value) for key, value in responses.items()})
        return handle

    async def _forward_until_done(
        self, handle: JobHandle, call: CallContext, wait_seconds: float | None
    ) -> None:
        """Forward updates of the job until it ends, asks something, or the client stops waiting."""
        steps = itertools.count(1)
        async with handle.subscribe() as subscription:
            while not handle.ended.is_set():
                try:
                    async with asyncio.timeout(wait_seconds):
                        await _forward_updates(subscription, call, steps)
                    if handle.job.asks:
                        return
                except TimeoutError:
                    if await self._try_detach(handle):
                        return
                    wait_seconds = _RETRY_DELAY_SECONDS

    async def _try_detach(self, handle: JobHandle) -> bool:
        """Save the record of a job so that it can be found again; return whether that worked."""
        try:
            await self.jobs.detach(handle)
        except InputOutputError as error:  # waiting longer is better than losing the job
            _log.warning("job not handed over", job=handle.job.id, reason=error.message)
            return False
        return True

    async def _build_reply(self, handle: JobHandle) -> _JsonObject:
        job = handle.job
        if not (job.state is JobState.COMPLETED and job.result is not None):
            raise await self._build_failure(handle)
        whole = dict(job.result)
        reply = truncate_result(job, whole, self.max_reply_bytes) if self.has_job_tool else whole
        if reply != whole and not await self._try_detach(handle):
            return whole
        return reply

    async def _build_failure(self, handle: JobHandle) -> Exception:
        """Return what ended a job without a result; for a stopped one, with its partial text."""
        error = _get_error(handle) or CancelledCallError("The work was stopped before it was done.")
        if handle.exception is None and isinstance(error, JuntoError):
            text = await self.jobs.text(handle.job)
            part = TextSlice.from_text(text, 0, self.max_reply_bytes // 2)
            error.details = {"jobId": handle.job.id}
            if part.text:
                error.details["partial"] = part.text
        return error

    def _build_job_reply(self, job: Job, partial_text: str) -> _JsonObject:
        """Return how to find a job that goes on, and its text so far."""
        part = TextSlice.from_text(partial_text, 0, self.max_reply_bytes // 2)
        notice = (
            f"This goes on as job {job.id}. Call `job` with this jobId and action result for the "
            "answer; waitSeconds lets it wait for the end."
        )
        content = {"jobId": job.id, "state": job.state, "notice": notice}
        if part.text:
            content["partial"] = part.text
        so_far = [f"So far:\n{part.text}"] if part.text else []
        return {
            "content": [{"type": "text", "text": "\n\n".join([notice, *so_far])}],
            "structuredContent": content,
            "isError": False,
        }

    def _build_failed_outcome(self, _handle: JobHandle, error: Exception) -> JobOutcome:
        """Return the record of a job that failed: the result that its caller gets, or would get."""
        if isinstance(error, JuntoError):
            result = build_error_result(error, self.redactor)
            state = JobState.TIMED_OUT if isinstance(error, TimeLimitError) else JobState.FAILED
            content = result["structuredContent"]
            fields = {name: content[name] for name in _PUBLIC_ERROR_FIELDS if name in content}
            return JobOutcome(state, result, fields)
        fault = error if isinstance(error, MCPError) else build_internal_error()
        return JobOutcome(JobState.FAILED, None, {"code": fault.code, "message": fault.message})


def _is_background(call: CallContext) -> bool:
    return bool(getattr(call.arguments, "background", False))


def _get_error(handle: JobHandle) -> Exception | None:
    """Return what a job failed with, or None if it completed."""
    job = handle.job
    if job.state is JobState.COMPLETED:
        return None
    if handle.exception:
        return handle.exception
    kind = TimeLimitError if job.state is JobState.TIMED_OUT else CancelledCallError
    return kind(str((job.error or {}).get("message")), retryable=False)


async def _forward_updates(
    subscription: JobSubscription, call: CallContext, steps: Iterator[int]
) -> None:
    async with aclosing(subscription.stream_updates()) as updates:
        async for message in updates:
            if isinstance(message, str):
                await call.report_progress(next(steps), message=message)
            else:
                await call.send_log(message)


def _build_input_required(job: Job) -> _JsonObject:
    """Return the questions that the client must answer before the job goes on."""
    return {
        "resultType": "input_required",
        "inputRequests": dict(job.asks or {}),
        "requestState": job.id,
    }
