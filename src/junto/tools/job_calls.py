"""Calls that may be long: each is a job, which the request watches for as long as clients wait."""

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
from junto.domain.jobs import Job, State
from junto.jobs.running import Outcome, Running
from junto.jobs.service import Jobs
from junto.jobs.watching import Watch
from junto.providers.client import sampler
from junto.telemetry.logs import Log
from junto.tools.guard import Guard, crashed, digest
from junto.tools.sampling import client_model
from junto.tools.slices import Slice, fitting, plain
from junto.tools.tasks import as_new_task, takes_tasks
from junto.tools.tool import Call

_log = Log.of("tools")

Wire = dict[str, Any]

# What of a failure is told with the state of its job; the rest is in its result.
_TOLD = ("code", "message", "retryable", "retryAfter", "sessionId")
# When to try again to hand over a job that could not be written down.
_AGAIN = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LongCalls:
    """Runs calls as jobs, and hands over the job where the client would not wait for its end."""

    jobs: Jobs
    guard: Guard
    # How long a client waits; one that understands tasks need not.
    patience: float
    before_task: float
    # For how long a job is kept after its end.
    kept: float
    # The largest reply that clients show.
    most_bytes: int

    async def run(
        self,
        call: Call,
        answer: Callable[[Call], Awaitable[Any]],
        *,
        background: bool,
        findable: bool,
    ) -> Wire:
        """Run `answer` as a job; return its result or, where it is `findable`, the job itself.

        Raises:
            InvalidInputError: the call is to go where nobody could find it.
            MCPError: the work failed in a way that nobody foresaw.
        """
        tasks = takes_tasks(call.context)
        if background and not (tasks or findable):
            raise InvalidInputError(
                "background: the tool `job`, which would tell the rest, is switched off here."
            )
        running = self._resumed(call) or self.jobs.start(
            call.caller,
            call.params.name,
            digest(call.params.arguments),
            lambda running: self._outcome(replace(call, job=running), answer),
        )
        patience = self.before_task if tasks else self.patience if findable else None
        try:
            if not background:
                await self._watch(running, call, patience)
                if running.ended.is_set():
                    return await self._reply(running, findable=findable)
                if running.job.asks and not tasks:
                    return _question(running.job)
            said = "" if tasks or background else await self.jobs.text(running.job)
            await self.jobs.detach(running)
        except BaseException:
            # Whoever asked will never hear of it.
            running.stop("The client cancelled the call, or hung up.")
            raise
        # Nothing is waited for from here on, so nothing can come between it and its handle.
        return as_new_task(running.job, self.kept) if tasks else self._handle(running.job, said)

    def _resumed(self, call: Call) -> Running | None:
        """Return the job that a call goes on with, which was asked something before.

        Raises:
            InvalidInputError: it is not under way here any more.
        """
        state = call.params.request_state
        if state is None:
            return None
        running = self.jobs.running(call.caller, state)
        if running is None or running.job.tool != call.params.name:
            raise InvalidInputError("requestState: the call that it belongs to is over. Ask anew.")
        given = call.params.input_responses or {}
        running.hears({key: plain(value) for key, value in given.items()})
        return running

    async def _watch(self, running: Running, call: Call, patience: float | None) -> None:
        """Pass on what the job says until it has ended, or the client waits no longer."""
        steps = itertools.count(1)
        async with running.watched() as watch:
            while not running.ended.is_set():
                try:
                    async with asyncio.timeout(patience):
                        await _pass_on(watch, call, steps)
                    if running.job.asks:
                        return
                except TimeoutError:
                    if await self._kept(running):
                        return
                    patience = _AGAIN

    async def _kept(self, running: Running) -> bool:
        """Have a job written down, so that it can be found again; tell whether it is."""
        try:
            await self.jobs.detach(running)
        except InputOutputError as error:  # then it is better to wait, and risk the client's clock
            _log.warning("job not handed over", job=running.job.id, reason=error.message)
            return False
        return True

    async def _reply(self, running: Running, *, findable: bool) -> Wire:
        job = running.job
        if not (job.state is State.COMPLETED and job.result is not None):
            raise await self._failure(running)
        whole = dict(job.result)
        reply = fitting(job, whole, self.most_bytes) if findable else whole
        if reply != whole and not await self._kept(running):
            return whole
        return reply

    async def _failure(self, running: Running) -> Exception:
        """Return what ended a job without a result, with what it had said before that."""
        job, error = running.job, running.job.error or {}
        if running.failure:
            return running.failure
        part = Slice.of(await self.jobs.text(job), 0, self.most_bytes // 2)
        kind = TimeLimitError if job.state is State.TIMED_OUT else CancelledCallError
        facts = {"jobId": job.id} | ({"partial": part.text} if part.text else {})
        return kind(str(error.get("message")), retryable=False, facts=facts)

    def _handle(self, job: Job, said: str) -> Wire:
        """Return how to find a job that goes on, and what it has said so far."""
        part = Slice.of(said, 0, self.most_bytes // 2)
        notice = (
            f"This goes on as job {job.id}. Call `job` with this jobId and action result for the "
            "answer; waitSeconds lets it wait for the end."
        )
        facts = {"jobId": job.id, "state": job.state, "notice": notice}
        if part.text:
            facts |= {"partial": part.text}
        so_far = [f"So far:\n{part.text}"] if part.text else []
        return {
            "content": [{"type": "text", "text": "\n\n".join([notice, *so_far])}],
            "structuredContent": facts,
            "isError": False,
        }

    async def _outcome(self, call: Call, answer: Callable[[Call], Awaitable[Any]]) -> Outcome:
        """Do the work, and say how it ended in a way that can be kept."""
        sampler.set(client_model(call))  # for this task, which is the job's own
        try:
            return Outcome(State.COMPLETED, plain(await answer(call)))
        except JuntoError as error:
            call.work.failure = error
            result = self.guard.failure(call.params.name, error)
            late = isinstance(error, TimeLimitError)
            state = State.TIMED_OUT if late else State.FAILED
            facts = result["structuredContent"]
            return Outcome(state, result, {name: facts[name] for name in _TOLD if name in facts})
        except MCPError as error:
            fault = error
        except Exception as error:  # noqa: BLE001 - logged, and told as far as may be told
            fault = crashed(error, "job crashed", tool=call.params.name)
        call.work.failure = fault
        return Outcome(State.FAILED, None, {"code": fault.code, "message": fault.message})


async def _pass_on(watch: Watch, call: Call, steps: Iterator[int]) -> None:
    async with aclosing(watch.news()) as news:
        async for message in news:
            if isinstance(message, str):
                await call.progress(next(steps), message=message)
            else:
                await call.log(message)


def _question(job: Job) -> Wire:
    """Return what the client must tell before the job goes on, and how it is found then."""
    return {
        "resultType": "input_required",
        "inputRequests": dict(job.asks or {}),
        "requestState": job.id,
    }
