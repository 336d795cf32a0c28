"""The agent service: runs Claude Code in resumable sessions, a limited number at a time.

Each run has its own task, so that a cancelled request still ends its run cleanly.
"""

import asyncio
import contextlib
import errno
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from junto.agent.launcher import Launcher, RunSpec
from junto.agent.options import RunOptions
from junto.agent.permissions import PermissionPrompt
from junto.agent.results import RunResult, build_result, build_result_error
from junto.agent.run import (
    AgentRequest,
    ContentBlocks,
    EndReason,
    PromptCheck,
    Run,
    RunListener,
    StopRequest,
    accept_prompt,
)
from junto.agent.run_budget import RunBudget
from junto.agent.run_queue import RunQueue
from junto.agent.run_state import RunState
from junto.domain.errors import (
    CancelledCallError,
    CapacityExceededError,
    ExecutionError,
    InvalidInputError,
    JuntoError,
    NotFoundError,
    TimeLimitError,
)
from junto.domain.ids import new_id
from junto.domain.sessions import Session, SessionStore, TranscriptLine
from junto.domain.usage import RequestOrigin
from junto.runtime.tasks import Stopped, background_task, run_shielded, run_to_completion, spawn
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage_recorder import UsageRecorder

_audit = Log.get("audit")
_log = Log.get("agent")

# Provider and model under which the usage of runs is recorded.
_USAGE_MODEL = ("anthropic", "claude-code")
_RESOURCE_ERRNOS = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC)


@dataclass(eq=False, slots=True, kw_only=True)
class AgentService:
    """Runs agent requests with Claude Code."""

    launcher: Launcher
    store: SessionStore
    queue: RunQueue
    metrics: Metrics
    usage_recorder: UsageRecorder = field(default_factory=UsageRecorder)
    # None allows every run.
    budget: RunBudget | None = None
    # Redacts and moderates every prompt before Claude Code gets it.
    check_prompt: PromptCheck = accept_prompt
    # A session lease expires this long after its server last renewed it.
    lease_seconds: float = 15.0

    async def run(
        self, request: AgentRequest, options: RunOptions, listener: RunListener
    ) -> RunResult:
        """Run a request and return its result.

        Raises:
            NotFoundError: the session or the working directory does not exist.
            PermissionDeniedError: a guard refuses the prompt.
            BudgetExceededError: the budget does not cover what the run may cost.
            JuntoError: the run failed or timed out; `details` holds the partial result.
        """
        request, options = await self._check_prompts(request, options)
        stop_request = StopRequest()
        async with self._lease_session(request, stop_request):
            spec = await self._build_spec(request, options)
            async with self.queue.acquire_slot(
                lambda position: listener.on_status(_format_queue_position(position))
            ):
                return await self._supervise(request, spec, listener, stop_request)

    async def _check_prompts(
        self, request: AgentRequest, options: RunOptions
    ) -> tuple[AgentRequest, RunOptions]:
        """Return the request and its system prompt as the guards let them pass."""
        texts = [block["text"] for block in request.content if block["type"] == "text"]
        system, *checked = await self.check_prompt([options.append_system_prompt or "", *texts])
        content = _replace_texts(request.content, checked)
        return (
            replace(request, content=content),
            replace(options, append_system_prompt=system or None),
        )

    @contextlib.asynccontextmanager
    async def _lease_session(
        self, request: AgentRequest, stop_request: StopRequest
    ) -> AsyncIterator[None]:
        """Hold the lease of the request's session, and stop the run if the lease is lost.

        A new or forked session needs no lease: no other server knows it.
        """
        if request.session_id is None or request.fork:
            yield
            return
        session_id, holder = request.session_id, new_id()
        try:
            existing = await self.store.find(request.owner, session_id)
            if existing and not await self._acquire_lease(session_id, holder):
                raise InvalidInputError(
                    f"Session {session_id} is at work already. Send it a message with `job`, or "
                    "branch off with fork: true. If its server has died, try again in "
                    f"{self.lease_seconds:.0f} s."
                )
            async with background_task(self._renew_lease(session_id, holder, stop_request)):
                yield
        finally:
            await run_shielded(self.store.release_lease(session_id, holder))

    async def _acquire_lease(self, session_id: str, holder: str) -> bool:
        now = time.time()
        return await self.store.acquire_lease(session_id, holder, now + self.lease_seconds, now)

    async def _renew_lease(self, session_id: str, holder: str, stop_request: StopRequest) -> None:
        while True:
            await asyncio.sleep(self.lease_seconds / 3)
            with contextlib.suppress(JuntoError):  # retry at the next interval
                if not await self._acquire_lease(session_id, holder):
                    stop_request.trigger(EndReason.LEASE_LOST)

    async def _build_spec(self, request: AgentRequest, options: RunOptions) -> RunSpec:
        """Return the spec of a run in a new, a resumed or a forked session."""
        now = time.time()
        new_session_id = str(uuid.uuid4())
        if request.session_id is None:
            cwd = self.launcher.resolve_cwd(options.cwd)
            session = Session(
                id=new_session_id, owner=request.owner, cwd=cwd, cost=0, created=now, updated=now
            )
            return RunSpec(options=options, session=session)
        existing = await self.store.find(request.owner, request.session_id)
        lines = await self.store.load_lines(request.session_id) if existing else ()
        if existing is None or not lines:
            raise NotFoundError(
                f"There is no session {request.session_id}. Leave sessionId out to start one."
            )
        # Continue in the previous directory unless the caller names another.
        cwd = self.launcher.resolve_cwd(options.cwd if request.overrides_cwd else existing.cwd)
        session = replace(existing, cwd=cwd, updated=now)
        if request.fork:
            session = replace(session, id=new_session_id, created=now)
        return RunSpec(
            options=options, session=session, resume_session_id=existing.id, transcript=lines
        )

    async def _supervise(
        self, request: AgentRequest, spec: RunSpec, listener: RunListener, stop_request: StopRequest
    ) -> RunResult:
        """Run in a separate task; cancelling the caller stops the run and waits for it to end."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(
            spec.options.timeout_seconds, stop_request.trigger, EndReason.TIMED_OUT
        )
        task = spawn(self._run_on_budget(request, spec, listener, stop_request))
        task.add_done_callback(lambda _: timer.cancel())
        try:
            result, error = await asyncio.shield(task)
        except asyncio.CancelledError:
            stop_request.trigger(EndReason.CANCELLED)
            with contextlib.suppress(JuntoError):
                result, _ = await run_to_completion(_await_task(task))
                listener.on_partial(result.to_dict())
            raise
        if error:
            error.details = result.to_dict(error.message)
            raise error
        return result

    async def _run_on_budget(
        self, request: AgentRequest, spec: RunSpec, listener: RunListener, stop_request: StopRequest
    ) -> tuple[RunResult, JuntoError | None]:
        """Reserve what the run may cost, and settle what it did; one that did not start is free."""
        if self.budget is None:
            return await self._run_with_metrics(request, spec, listener, stop_request)
        reserved = await self.budget.reserve(spec.options.max_budget_usd)
        spec = replace(spec, options=reserved.limit_options(spec.options))
        try:
            outcome = await self._run_with_metrics(request, spec, listener, stop_request)
        except BaseException:
            await self.budget.settle(reserved, 0, {})
            raise
        result, _ = outcome
        await self.budget.settle(reserved, result.cost_usd, result.usage_by_model)
        return outcome

    async def _run_with_metrics(
        self, request: AgentRequest, spec: RunSpec, listener: RunListener, stop_request: StopRequest
    ) -> tuple[RunResult, JuntoError | None]:
        started, status, turns, cost = time.monotonic(), "Crash", 0, None
        self.metrics.record_run_start()
        try:
            result, error = await self._execute(request, spec, listener, stop_request)
            status, turns, cost = error.code if error else "ok", result.turns, result.cost_usd
            self._record_usage(request, result, answered=error is None)
        except JuntoError as failure:
            status = failure.code
            raise
        else:
            return result, error
        finally:
            seconds = time.monotonic() - started
            self.metrics.record_run_end(status, seconds, turns, cost or 0.0)
            fields = {"status": status, "turns": turns, "cost": cost, "seconds": round(seconds, 1)}
            _write_audit(request, spec, fields)

    def _record_usage(self, request: AgentRequest, result: RunResult, *, answered: bool) -> None:
        """Record the usage as one model call; only the CLI knows which models it called."""
        origin = RequestOrigin(request.owner, "claude_code_query")
        cost = None if result.cost_usd is None else Decimal(str(result.cost_usd))
        self.usage_recorder.record_model_call(
            origin, _USAGE_MODEL, result.token_usage, cost, answered=answered
        )

    async def _execute(
        self, request: AgentRequest, spec: RunSpec, listener: RunListener, stop_request: StopRequest
    ) -> tuple[RunResult, JuntoError | None]:
        options, session = spec.options, spec.session
        state = RunState(
            options.max_messages, options.include_system_messages, self.launcher.redact
        )
        run = Run(
            content=request.content,
            state=state,
            listener=listener,
            session=session,
            check_prompt=self.check_prompt,
        )
        permissions = PermissionPrompt(listener, state, session.cwd, self.launcher.redact)
        started = time.monotonic()
        listener.on_status("starting Claude Code")
        await self._save_session(spec)
        stderr_tail = ""
        try:
            connection = self.launcher.launch(
                spec, run.on_message, permissions.build_can_use_tool, stop_request.event
            )
            async with connection as (client, transport):
                end_reason = await run.drive(client, stop_request)
                stderr_tail = self.launcher.redact(transport.stderr_tail)
        except Stopped:  # before the client was connected
            end_reason = stop_request.reason
        except OSError as os_error:
            raise build_start_error(os_error) from None
        error = _build_end_error(end_reason, options, state, stderr_tail)
        if error:
            run.report_error(error)
        result = build_result(state, session.id, time.monotonic() - started)
        listener.on_usage(result.usage)
        if result.cost_usd is not None:
            await self._save_cost(session, result.cost_usd)
        return result, error

    async def _save_cost(self, session: Session, cost_usd: float) -> None:
        try:
            await self.store.set_cost(session.id, session.cost + cost_usd, time.time())
        except JuntoError as error:  # the run has ended, and its result is worth more
            _log.warning("cost of session not saved", session=session.id, reason=error.message)

    async def _save_session(self, spec: RunSpec) -> None:
        await self.store.save(spec.session)
        if spec.resume_session_id not in (None, spec.session.id):
            await self.store.append(spec.session.id, _copy_transcript(spec), time.time())


def _replace_texts(content: ContentBlocks, texts: Iterable[str]) -> ContentBlocks:
    remaining = iter(texts)
    return [
        {**block, "text": next(remaining)} if block["type"] == "text" else block
        for block in content
    ]


def _copy_transcript(spec: RunSpec) -> list[TranscriptLine]:
    """Return the transcript with the session id replaced by that of the fork."""
    return [
        replace(line, text=line.text.replace(spec.resume_session_id or "", spec.session.id))
        for line in spec.transcript
    ]


async def _await_task(
    task: "asyncio.Task[tuple[RunResult, JuntoError | None]]",
) -> tuple[RunResult, JuntoError | None]:
    return await task


def _format_queue_position(position: int) -> str:
    return f"waiting for Claude Code, as number {position} in the queue"


def _build_end_error(
    reason: EndReason, options: RunOptions, state: RunState, stderr_tail: str
) -> JuntoError | None:
    match reason:
        case EndReason.CANCELLED:
            return CancelledCallError("The run was stopped.")
        case EndReason.LEASE_LOST:
            return ExecutionError(
                "This server was not heard of for a while, and another has taken the session."
            )
        case EndReason.TIMED_OUT:
            return TimeLimitError(
                f"Claude Code took longer than {options.timeout_seconds:g} s and was stopped. "
                "Call again with its sessionId to go on; timeoutMs gives it longer, up to the "
                "operator's limit (agent.time_limit).",
                retryable=False,
            )
        case EndReason.COMPLETED:
            return build_result_error(state.last_result or {}, stderr_tail)


def build_start_error(error: OSError) -> JuntoError:
    """Convert the `OSError` of a failed process start."""
    if error.errno in _RESOURCE_ERRNOS:
        return CapacityExceededError(
            f"This machine has no room for another run: {error.strerror}. Try again later."
        )
    return ExecutionError(f"Claude Code could not be started: {error.strerror or error}.")


def _write_audit(request: AgentRequest, spec: RunSpec, facts: Mapping[str, Any]) -> None:
    if _audit.is_info_enabled:
        mode = spec.options.permission_mode
        _audit.info("agent run", caller=request.owner, session=spec.session.id, mode=mode, **facts)
