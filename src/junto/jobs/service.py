"""The job service: starts jobs in their own tasks, and reads and controls all stored jobs.

Jobs of other servers are controlled by commands in a mailbox table, which each server polls;
pub/sub only wakes the poller.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from junto.domain.errors import (
    CapacityExceededError,
    InputOutputError,
    InvalidInputError,
    JuntoError,
    NotFoundError,
    TimeLimitError,
)
from junto.domain.ids import new_id, normalize_id
from junto.domain.jobs import (
    Job,
    JobCommand,
    JobLogEntry,
    JobMailItem,
    JobState,
    JobStore,
    JsonObject,
)
from junto.domain.pubsub import PubSub, PubSubMessage
from junto.jobs.handle import JobHandle, JobOutcome
from junto.jobs.liveness import JobReaper, Liveness
from junto.jobs.timings import JobTimings
from junto.jobs.writer import BatchJobWriter
from junto.runtime.tasks import background_task
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics

_log = Log.get("jobs")

Work = Callable[[JobHandle], Awaitable[JsonObject]]
OnError = Callable[[JobHandle, Exception], JobOutcome]


def build_failed_outcome(handle: JobHandle, error: Exception) -> JobOutcome:
    """Return the outcome of a job that raised `error`."""
    if isinstance(error, JuntoError):
        state = JobState.TIMED_OUT if isinstance(error, TimeLimitError) else JobState.FAILED
        return JobOutcome(state, None, {"code": error.code, "message": error.message})
    _log.exception("job crashed", error, job=handle.job.id, tool=handle.job.tool)
    details = {"code": "Crash", "message": "Something failed inside Junto."}
    return JobOutcome(JobState.FAILED, None, details)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """Limits on the number, duration and retention of jobs."""

    max_concurrent: int = 1000
    max_queued: int = 10_000
    timeout_seconds: float = 3600.0
    drain_seconds: float = 5.0
    retention_seconds: float = 86_400.0


@dataclass(eq=False, slots=True, kw_only=True)
class JobService:
    """Runs the jobs of this server, and gives access to the stored jobs of all servers."""

    store: JobStore
    liveness: Liveness
    limits: JobLimits = JobLimits()
    timings: JobTimings = field(default_factory=JobTimings)
    signals: PubSub | None = None
    metrics: Metrics = field(default_factory=Metrics)
    now: Callable[[], float] = time.time
    reaper: JobReaper = field(init=False)
    _writer: BatchJobWriter = field(init=False)
    _handles: dict[str, JobHandle] = field(default_factory=dict, init=False)
    _slots: asyncio.Semaphore = field(init=False)
    _busy: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _mail_arrived: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _closing: bool = field(default=False, init=False)
    _drain_skipped: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.reaper = JobReaper(
            self.store, self.liveness, self.limits.retention_seconds, self.now, self.timings
        )
        self._writer = BatchJobWriter(self.store, self.timings)
        self._slots = asyncio.Semaphore(self.limits.max_concurrent)

    @property
    def count(self) -> int:
        """The number of unfinished jobs of this server."""
        return len(self._handles)

    def start(
        self,
        owner: str,
        tool: str,
        digest: str,
        work: Work,
        on_error: OnError = build_failed_outcome,
    ) -> JobHandle:
        """Start a job; it does not end with the request that started it.

        `on_error` decides what is recorded of an exception that the work raises.

        Raises:
            CapacityExceededError: the queue is full, or the server is shutting down.
        """
        if self._closing:
            raise CapacityExceededError("The server is being stopped. Try again in a moment.")
        if len(self._handles) >= self.limits.max_concurrent + self.limits.max_queued:
            raise CapacityExceededError("Too many jobs are waiting already. Try again later.")
        self.liveness.announce()
        job = Job(
            id=new_id(),
            owner=owner,
            tool=tool,
            digest=digest,
            server=self.liveness.server_id,
            created=self.now(),
            updated=self.now(),
        )
        handle = JobHandle(job, self._writer, self.now)
        self._handles[job.id] = handle
        self.metrics.record_job_start(tool)
        self._busy.set()
        self._writer.schedule_now(handle)
        handle.task = asyncio.create_task(self._run(handle, work, on_error), name=f"job {job.id}")
        handle.task.add_done_callback(lambda _: self._on_done(handle))
        return handle

    async def detach(self, handle: JobHandle) -> None:
        """Let a job continue without its caller, after its record is stored.

        Raises:
            InputOutputError: the record cannot be stored, so the job is not detached.
        """
        try:
            async with asyncio.timeout(self.timings.store_timeout_seconds):
                await self._writer.flush()
        except TimeoutError:
            raise InputOutputError("The database takes too long.", retryable=True) from None
        handle.detach()

    def skip_drain(self) -> None:
        """Stop unfinished jobs at shutdown without waiting for them to finish."""
        self._drain_skipped.set()

    def get_handle(self, owner: str, id_: str) -> JobHandle | None:
        """Return the handle of an unfinished job of `owner` on this server, if there is one."""
        handle = self._handles.get(id_)
        return handle if handle and handle.job.owner == owner else None

    async def find(self, owner: str, id_: str) -> Job:
        """Return the current record of a job.

        Raises:
            NotFoundError: the job does not exist.
        """
        job_id = normalize_id(id_)
        await self._try_flush()
        handle = self._handles.get(job_id) or self._writer.find_unwritten(job_id)
        if handle and handle.job.owner == owner:
            now = handle.job.ended or self.now()
            return replace(handle.job, updated=now)
        job = await self.store.find(owner, job_id)
        if job and not job.state.is_final and await self.reaper.reap_lost():
            job = await self.store.find(owner, job_id)
        if job is None:
            raise NotFoundError(
                f"There is no job {id_[:80]}. `job` without an id shows your latest ones."
            )
        return job

    async def list_recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        """Return the latest jobs of `owner`, newest first."""
        await self._try_flush()
        await self.reaper.reap_lost()
        return await self.store.list_recent(owner, limit)

    async def list_entries(self, job: Job, after: int, limit: int) -> tuple[JobLogEntry, ...]:
        """Return log entries after sequence number `after`.

        The owner is not checked: `job` must come from `find`.
        """
        await self._try_flush()
        return await self.store.read_log(job.id, after, limit)

    async def text(self, job: Job) -> str:
        """Return the text of a job's answer so far.

        The owner is not checked: `job` must come from `find`.
        """
        await self._try_flush()
        return await self.store.read_text(job.id)

    async def cancel(self, owner: str, id_: str, reason: str) -> Job:
        """Stop a job on any server, wait briefly for it to end, and return its record.

        Raises:
            NotFoundError: the job does not exist.
        """
        handle = self._handles.get(normalize_id(id_))
        if handle and handle.job.owner == owner:
            handle.stop(reason)  # before any slow store access
        elif not (job := await self.find(owner, id_)).state.is_final:
            await self._send_command(job, JobCommand.CANCEL, reason)
        return await self.wait_until_done(owner, id_, self.timings.cancel_timeout_seconds)

    async def answer(self, owner: str, id_: str, answers: Mapping[str, Any]) -> None:
        """Send a job the answers to its questions.

        Raises:
            NotFoundError: the job does not exist.
        """
        job = await self.find(owner, id_)
        if not job.state.is_final:
            await self._send_command(job, JobCommand.ANSWER, json.dumps(dict(answers)))

    async def send(self, owner: str, id_: str, message: str) -> Job:
        """Send a job a message, and return its record.

        Raises:
            NotFoundError: the job does not exist.
            InvalidInputError: the job has ended, or does not accept messages now.
        """
        job = await self.find(owner, id_)
        handle = self._handles.get(job.id)
        if job.state.is_final or (handle and not handle.deliver_message(message)):
            raise InvalidInputError(
                f"Job {job.id} ({job.state}) takes no messages now. Go on with its sessionId once "
                "it has ended."
            )
        if handle is None:
            await self._send_command(job, JobCommand.MESSAGE, message)
        return job

    async def wait_until_done(
        self,
        owner: str,
        id_: str,
        timeout: float,  # noqa: ASYNC109 - a timeout returns the record and is no error
    ) -> Job:
        """Wait until a job has ended, for `timeout` seconds at most, and return its record.

        Raises:
            NotFoundError: the job does not exist.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        poll_interval = self.timings.poll_interval_seconds / 4
        while not (job := await self.find(owner, id_)).state.is_final:
            remaining = deadline - asyncio.get_running_loop().time()
            if remaining <= 0:
                break
            handle = self._handles.get(job.id)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(remaining if handle else min(remaining, poll_interval)):
                    await (handle.ended.wait() if handle else asyncio.Event().wait())
        return job

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Run the writer, mailbox poller and reaper; at the end, drain and stop the jobs."""
        async with contextlib.AsyncExitStack() as stack:
            if self.signals:
                await stack.enter_async_context(self.signals.subscribe(self._on_signal))
            stack.callback(self.liveness.withdraw)
            await stack.enter_async_context(self._writer.open())
            await stack.enter_async_context(background_task(self._poll_mailbox()))
            await stack.enter_async_context(background_task(self.reaper.run()))
            try:
                yield
            finally:
                await self._drain()

    async def _run(self, handle: JobHandle, work: Work, on_error: OnError) -> None:
        """Run the work of a job within its limits, and set the outcome."""
        deadline: asyncio.Timeout | None = None
        try:
            async with self._slots:
                handle.mark_started()
                async with asyncio.timeout(self.limits.timeout_seconds) as deadline:
                    outcome = JobOutcome(JobState.COMPLETED, await work(handle))
        except asyncio.CancelledError:
            outcome = _build_cancelled_outcome(handle)
        except Exception as error:  # noqa: BLE001 - a job needs a final state in any case
            if isinstance(error, TimeoutError) and deadline and deadline.expired():
                outcome = on_error(handle, self._build_time_limit_error())
            else:
                handle.exception = error
                outcome = on_error(handle, error)
        handle.finish(outcome)

    def _on_done(self, handle: JobHandle) -> None:
        """Clean up after a job.

        If its task was cancelled before `_run` began, the job has no outcome yet.
        """
        handle.finish(_build_cancelled_outcome(handle))
        self._handles.pop(handle.job.id, None)
        self.metrics.record_job_end(handle.job.tool, handle.job.state)
        if not self._handles:
            self._busy.clear()

    def _build_time_limit_error(self) -> TimeLimitError:
        seconds = self.limits.timeout_seconds
        return TimeLimitError(f"It took longer than {seconds:.0f} s, which is as long as it may.")

    async def _send_command(self, job: Job, command: JobCommand, text: str) -> None:
        if handle := self._handles.get(job.id):
            _apply_command(handle, command, text)
            return
        await self.store.send_command(JobMailItem(job.id, command, text))
        if self.signals:
            await self.signals.publish({"server": job.server})

    def _on_signal(self, signal: PubSubMessage) -> None:
        if signal.get("server") == self.liveness.server_id:
            self._mail_arrived.set()

    async def _poll_mailbox(self) -> None:
        """Send heartbeats and apply commands while this server has jobs."""
        heartbeat_interval = self.timings.heartbeat_interval_seconds
        last_heartbeat = -heartbeat_interval
        while True:
            await self._busy.wait()
            try:
                if time.monotonic() - last_heartbeat >= heartbeat_interval:
                    await self.store.record_heartbeat(self.liveness.server_id)
                    last_heartbeat = time.monotonic()
                for item in await self.store.take_commands(self.liveness.server_id):
                    if handle := self._handles.get(item.job_id):
                        _apply_command(handle, item.command, item.text)
            except JuntoError as error:  # retry at the next interval
                _log.warning("jobs not looked after", reason=error.message)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.timings.poll_interval_seconds):
                    await self._mail_arrived.wait()
            self._mail_arrived.clear()

    async def _drain(self) -> None:
        self._closing = True
        tasks = [each.task for each in self._handles.values() if each.task]
        if tasks:
            skipped = asyncio.create_task(self._drain_skipped.wait())
            finished = asyncio.ensure_future(asyncio.wait(tasks))
            await asyncio.wait(
                {finished, skipped},
                timeout=self.limits.drain_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for each in (skipped, finished):
                each.cancel()
            await asyncio.gather(skipped, finished, return_exceptions=True)
        for handle in list(self._handles.values()):
            handle.stop("The server was stopped.")
        if tasks:
            await asyncio.wait(tasks, timeout=self.timings.stop_timeout_seconds)
        for handle in list(self._handles.values()):
            _log.warning("a job would not stop", job=handle.job.id, tool=handle.job.tool)
            handle.finish(_build_cancelled_outcome(handle))

    async def _try_flush(self) -> None:
        """Write pending updates, so that the store is up to date if it is available."""
        with contextlib.suppress(JuntoError, TimeoutError):  # the writer retries and logs
            async with asyncio.timeout(self.timings.store_timeout_seconds):
                await self._writer.flush()


def _build_cancelled_outcome(handle: JobHandle) -> JobOutcome:
    message = handle.stop_reason or "The work was stopped before it was done."
    error = {"code": "Cancelled", "message": message, "retryable": False}
    return JobOutcome(JobState.CANCELLED, handle.partial_result, error)


def _apply_command(handle: JobHandle, command: JobCommand, text: str) -> None:
    match command:
        case JobCommand.CANCEL:
            handle.stop(text)
        case JobCommand.ANSWER:
            handle.receive_answers(json.loads(text))
        case JobCommand.MESSAGE:
            handle.deliver_message(text)
