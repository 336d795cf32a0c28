"""Claude Code's runs: a few at a time, each in a task that no request ends, each in a session."""

import asyncio
import contextlib
import errno
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from junto.agent.bundles import Bundle, bundle, failure
from junto.agent.course import Course
from junto.agent.house import Errand, House
from junto.agent.options import Options
from junto.agent.permissions import Gate
from junto.agent.places import Places
from junto.agent.run import Curfew, Ending, Order, Run, Voice
from junto.domain.errors import (
    CancelledCallError,
    ExecutionError,
    InvalidInputError,
    JuntoError,
    NoRoomError,
    NotFoundError,
    TimeLimitError,
)
from junto.domain.ids import new_id
from junto.domain.sessions import Line, Session, SessionStore
from junto.domain.usage import Origin
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.telemetry.usage import UsageBook
from junto.work.tasks import Stopped, begun, beside, finished, surely

_audit = Log.of("audit")

# How long a session stays with a server of which nothing is heard.
_HELD = 15.0
# Whose what runs use is counted as: a provider and a model.
_PROGRAM = ("anthropic", "claude-code")
_NO_ROOM = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC)


@dataclass(eq=False, slots=True, kw_only=True)
class Agent:
    """Runs orders."""

    house: House
    store: SessionStore
    places: Places
    metrics: Metrics
    book: UsageBook = field(default_factory=UsageBook)

    async def run(self, order: Order, options: Options, voice: Voice) -> Bundle:
        """Do what an order says, and return what came of it.

        Raises:
            NotFoundError: there is no such session, or no such folder.
            JuntoError: it failed, or took too long; what came of it until then is in its facts.
        """
        curfew = Curfew()
        async with self._held(order, curfew):
            errand = await self._errand(order, options)
            async with self.places.taken(lambda before: voice.notes(_waiting(before))):
                return await self._supervised(order, errand, voice, curfew)

    @contextlib.asynccontextmanager
    async def _held(self, order: Order, curfew: Curfew) -> AsyncIterator[None]:
        """Have the session of an order for it alone, among all servers; else it must end."""
        if order.session is None or order.fork:
            yield
            return
        session, holder = order.session, new_id()
        try:
            known = await self.store.find(order.owner, session)
            if known and not await self._hold(session, holder):
                raise InvalidInputError(
                    f"Session {session} is at work already. Send it a message with `job`, or "
                    "branch off with fork: true. If its server has died, try again in "
                    f"{_HELD:.0f} s."
                )
            async with beside(self._go_on_holding(session, holder, curfew)):
                yield
        finally:
            await surely(self.store.release(session, holder))

    async def _hold(self, session: str, holder: str) -> bool:
        now = time.time()
        return await self.store.hold(session, holder, now + _HELD, now)

    async def _go_on_holding(self, session: str, holder: str, curfew: Curfew) -> None:
        while True:
            await asyncio.sleep(_HELD / 3)
            with contextlib.suppress(JuntoError):  # the next time may be better
                if not await self._hold(session, holder):
                    curfew.falls(Ending.TAKEN)

    async def _errand(self, order: Order, options: Options) -> Errand:
        """Return what to start: in a new session, in one that is known, or on a branch of it."""
        now = time.time()
        new = str(uuid.uuid4())
        if order.session is None:
            cwd = self.house.folder(options.cwd)
            session = Session(id=new, owner=order.owner, cwd=cwd, cost=0, created=now, updated=now)
            return Errand(options=options, session=session)
        known = await self.store.find(order.owner, order.session)
        lines = await self.store.lines(order.session) if known else ()
        if known is None or not lines:
            raise NotFoundError(
                f"There is no session {order.session}. Leave sessionId out to start one."
            )
        # Where it was before, unless the caller says otherwise.
        cwd = self.house.folder(options.cwd if order.moves else known.cwd)
        session = replace(known, cwd=cwd, updated=now)
        if order.fork:
            session = replace(session, id=new, created=now)
        return Errand(options=options, session=session, resumed=known.id, lines=lines)

    async def _supervised(
        self, order: Order, errand: Errand, voice: Voice, curfew: Curfew
    ) -> Bundle:
        """Run in a task of its own; whoever stops this only asks that one to end."""
        loop = asyncio.get_running_loop()
        clock = loop.call_later(errand.options.seconds, curfew.falls, Ending.LATE)
        work = begun(self._measured(order, errand, voice, curfew))
        work.add_done_callback(lambda _: clock.cancel())
        try:
            came, error = await asyncio.shield(work)
        except asyncio.CancelledError:
            curfew.falls(Ending.STOPPED)
            with contextlib.suppress(JuntoError):
                came, _ = await finished(_result(work))
                voice.keeps(came.facts())
            raise
        if error:
            error.facts = came.facts(error.message)
            raise error
        return came

    async def _measured(
        self, order: Order, errand: Errand, voice: Voice, curfew: Curfew
    ) -> tuple[Bundle, JuntoError | None]:
        started, status, turns, cost = time.monotonic(), "Crash", 0, None
        self.metrics.agent_began()
        try:
            came, error = await self._worked(order, errand, voice, curfew)
            status, turns, cost = error.code if error else "ok", came.turns, came.cost
            self._noted(order, came, answered=error is None)
        except JuntoError as failed:
            status = failed.code
            raise
        else:
            return came, error
        finally:
            seconds = time.monotonic() - started
            self.metrics.agent_ended(status, seconds, turns, cost or 0.0)
            facts = {"status": status, "turns": turns, "cost": cost, "seconds": round(seconds, 1)}
            _record(order, errand, facts)

    def _noted(self, order: Order, came: Bundle, *, answered: bool) -> None:
        """Note what a run used, as one question: only the program knows which models it asked."""
        origin = Origin(order.owner, "claude_code_query")
        dollars = None if came.cost is None else Decimal(str(came.cost))
        self.book.model_asked(origin, _PROGRAM, came.tokens, dollars, answered=answered)

    async def _worked(
        self, order: Order, errand: Errand, voice: Voice, curfew: Curfew
    ) -> tuple[Bundle, JuntoError | None]:
        options, session = errand.options, errand.session
        course = Course(options.max_messages, options.include_system_messages, self.house.clean)
        run = Run(content=order.content, course=course, voice=voice, session=session)
        gate = Gate(voice, course, session.cwd, self.house.clean)
        started = time.monotonic()
        voice.notes("starting Claude Code")
        await self._begun(errand)
        complaints = ""
        try:
            starting = self.house.started(errand, run.hears, gate.decider, curfew.stop)
            async with starting as (client, pipe):
                ending = await run.driven(client, curfew)
                complaints = self.house.clean(pipe.complaints)
        except Stopped:  # before it had begun
            ending = curfew.ending
        except OSError as fault:
            raise no_start(fault) from None
        error = _ended(ending, options, course, complaints)
        if error:
            run.fails(error)
        came = bundle(course, session.id, time.monotonic() - started)
        voice.uses(came.usage)
        if came.cost is not None:
            await self.store.spent(session.id, session.cost + came.cost, time.time())
        return came, error

    async def _begun(self, errand: Errand) -> None:
        await self.store.begin(errand.session)
        if errand.resumed not in (None, errand.session.id):
            await self.store.append(errand.session.id, _moved(errand), time.time())


def _moved(errand: Errand) -> list[Line]:
    """Return a transcript as that of the branch."""
    return [
        replace(line, text=line.text.replace(errand.resumed or "", errand.session.id))
        for line in errand.lines
    ]


async def _result(
    work: "asyncio.Task[tuple[Bundle, JuntoError | None]]",
) -> tuple[Bundle, JuntoError | None]:
    return await work


def _waiting(before: int) -> str:
    return f"waiting for Claude Code, as number {before} in the queue"


def _ended(ending: Ending, options: Options, course: Course, complaints: str) -> JuntoError | None:
    match ending:
        case Ending.STOPPED:
            return CancelledCallError("The run was stopped.")
        case Ending.TAKEN:
            return ExecutionError(
                "This server was not heard of for a while, and another has taken the session."
            )
        case Ending.LATE:
            return TimeLimitError(
                f"Claude Code took longer than {options.seconds:g} s and was stopped. Call again "
                "with its sessionId to go on; timeoutMs gives it longer, up to the operator's "
                "limit (agent.time_limit).",
                retryable=False,
            )
        case Ending.DONE:
            return failure(course.result or {}, complaints)


def no_start(error: OSError) -> JuntoError:
    """Return what to tell of a program that could not be started."""
    if error.errno in _NO_ROOM:
        return NoRoomError(
            f"This machine has no room for another run: {error.strerror}. Try again later."
        )
    return ExecutionError(f"Claude Code could not be started: {error.strerror or error}.")


def _record(order: Order, errand: Errand, facts: Mapping[str, Any]) -> None:
    if _audit.wanted:
        mode = errand.options.permission_mode
        _audit.info("agent run", caller=order.owner, session=errand.session.id, mode=mode, **facts)
