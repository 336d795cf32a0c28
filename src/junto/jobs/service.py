"""Jobs: started in tasks of their own, found again by their owners, stopped from anywhere."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from junto.domain.errors import (
    InputOutputError,
    InvalidInputError,
    JuntoError,
    NoRoomError,
    NotFoundError,
    TimeLimitError,
)
from junto.domain.ids import canonical, new_id
from junto.domain.jobs import Entry, Job, JobStore, Letter, State, Wish
from junto.domain.signals import Signal, Signals
from junto.jobs.journal import Journal
from junto.jobs.presence import Presence
from junto.jobs.running import Outcome, Running
from junto.jobs.tidying import Tidy
from junto.telemetry.logs import Log
from junto.telemetry.metrics import Metrics
from junto.work.tasks import beside

_log = Log.of("jobs")

_LOOK_EVERY = 1.0
_BEAT_EVERY = 5.0
# Whoever cancels is told how that ended, if it does not take long.
_CANCEL_PATIENCE = 3.0
_STOPPING = 5.0
# How long anybody waits for a store that does not answer, where there is a way without it.
_STORE_PATIENCE = 2.0

Work = Callable[[Running], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How many jobs may run, how many may wait for that, how long each may take, and be kept."""

    concurrent: int = 1000
    waiting: int = 10_000
    seconds: float = 3600.0
    drain: float = 5.0
    retention: float = 86_400.0


@dataclass(eq=False, slots=True, kw_only=True)
class Jobs:
    """Every job of this server, and the records of all."""

    store: JobStore
    presence: Presence
    bounds: Bounds = Bounds()
    signals: Signals | None = None
    metrics: Metrics = field(default_factory=Metrics)
    now: Callable[[], float] = time.time
    tidy: Tidy = field(init=False)
    _journal: Journal = field(init=False)
    _running: dict[str, Running] = field(default_factory=dict, init=False)
    _places: asyncio.Semaphore = field(init=False)
    _busy: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _letters: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _closing: bool = field(default=False, init=False)
    _hurry: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.tidy = Tidy(self.store, self.presence, self.bounds.retention, self.now)
        self._journal = Journal(self.store)
        self._places = asyncio.Semaphore(self.bounds.concurrent)

    @property
    def count(self) -> int:
        """Return how many jobs this server has that have not ended."""
        return len(self._running)

    def start(self, owner: str, tool: str, digest: str, work: Work) -> Running:
        """Begin a job; nothing but `stop` or its own end ends it.

        Raises:
            NoRoomError: there are too many already, or the server is being stopped.
        """
        if self._closing:
            raise NoRoomError("The server is being stopped. Try again in a moment.")
        if len(self._running) >= self.bounds.concurrent + self.bounds.waiting:
            raise NoRoomError("Too many jobs are waiting already. Try again later.")
        self.presence.show()
        job = Job(
            id=new_id(),
            owner=owner,
            tool=tool,
            digest=digest,
            server=self.presence.server,
            created=self.now(),
            updated=self.now(),
        )
        running = Running(job, self._journal, self.now)
        self._running[job.id] = running
        self.metrics.job_began(tool)
        self._busy.set()
        self._journal.at_once(running)
        running.task = asyncio.create_task(self._run(running, work), name=f"job {job.id}")
        running.task.add_done_callback(lambda _: self._done(running))
        return running

    async def detach(self, running: Running) -> None:
        """Let a job go on without its caller; its record is there before this returns.

        Raises:
            InputOutputError: no record can be made, so it stays with its caller.
        """
        try:
            async with asyncio.timeout(_STORE_PATIENCE):
                await self._journal.flush()
        except TimeoutError:
            raise InputOutputError("The database takes too long.", retryable=True) from None
        running.detach()

    def hurry(self) -> None:
        """Wait no longer for jobs to finish, once they are being drained."""
        self._hurry.set()

    def running(self, owner: str, id_: str) -> Running | None:
        """Return a job of `owner` that is under way here."""
        found = self._running.get(id_)
        return found if found and found.job.owner == owner else None

    async def find(self, owner: str, id_: str) -> Job:
        """Return how a job stands now.

        Raises:
            NotFoundError: there is none.
        """
        wanted = canonical(id_)
        await self._written()
        running = self._running.get(wanted) or self._journal.unwritten(wanted)
        if running and running.job.owner == owner:
            now = running.job.ended or self.now()
            return replace(running.job, updated=now)
        found = await self.store.find(owner, wanted)
        if found and not found.state.final and await self.tidy.settle_lost():
            found = await self.store.find(owner, wanted)
        if found is None:
            raise NotFoundError(
                f"There is no job {id_[:80]}. `job` without an id shows your latest ones."
            )
        return found

    async def recent(self, owner: str, limit: int) -> tuple[Job, ...]:
        """Return the latest jobs of `owner`, the newest first."""
        await self._written()
        await self.tidy.settle_lost()
        return await self.store.recent(owner, limit)

    async def entries(self, job: Job, after: int, limit: int) -> tuple[Entry, ...]:
        """Return what a job has logged after that number; only for who has found it."""
        await self._written()
        return await self.store.entries(job.id, after, limit)

    async def text(self, job: Job) -> str:
        """Return what a job has said of its answer; only for who has found it."""
        await self._written()
        return await self.store.text(job.id)

    async def cancel(self, owner: str, id_: str, reason: str) -> Job:
        """Stop a job, wherever it runs, and return how it stands then.

        Raises:
            NotFoundError: there is none.
        """
        running = self._running.get(canonical(id_))
        if running and running.job.owner == owner:
            running.stop(reason)  # before anything that could take its time
        elif not (job := await self.find(owner, id_)).state.final:
            await self._tell(job, Wish.CANCEL, reason)
        return await self.awaited(owner, id_, _CANCEL_PATIENCE)

    async def answer(self, owner: str, id_: str, answers: Mapping[str, Any]) -> None:
        """Hand a job what it asked for.

        Raises:
            NotFoundError: there is none.
        """
        job = await self.find(owner, id_)
        if not job.state.final:
            await self._tell(job, Wish.ANSWER, json.dumps(dict(answers)))

    async def send(self, owner: str, id_: str, message: str) -> Job:
        """Hand the work of a job a message, and return how the job stands.

        Raises:
            NotFoundError: there is none.
            InvalidInputError: it has ended, or takes no messages now.
        """
        job = await self.find(owner, id_)
        running = self._running.get(job.id)
        if job.state.final or (running and not running.hands_on(message)):
            raise InvalidInputError(
                f"Job {job.id} ({job.state}) takes no messages now. Go on with its sessionId once "
                "it has ended."
            )
        if running is None:
            await self._tell(job, Wish.MESSAGE, message)
        return job

    async def awaited(self, owner: str, id_: str, seconds: float) -> Job:
        """Return a job when it has ended, or as it stands after so many seconds.

        Raises:
            NotFoundError: there is none.
        """
        until = asyncio.get_running_loop().time() + seconds
        while not (job := await self.find(owner, id_)).state.final:
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                break
            running = self._running.get(job.id)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left if running else min(left, _LOOK_EVERY / 4)):
                    await (running.ended.wait() if running else asyncio.Event().wait())
        return job

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Write down and attend to what runs; at the end finish it, for a while, and stop it."""
        async with contextlib.AsyncExitStack() as stack:
            if self.signals:
                await stack.enter_async_context(self.signals.heard(self._hear))
            stack.callback(self.presence.hide)
            await stack.enter_async_context(self._journal.kept())
            await stack.enter_async_context(beside(self._attend()))
            await stack.enter_async_context(beside(self.tidy.run()))
            try:
                yield
            finally:
                await self._drained()

    async def _run(self, running: Running, work: Work) -> None:
        try:
            outcome = await self._outcome(running, work)
        except asyncio.CancelledError:
            outcome = _cancelled(running)
        except Exception as error:  # noqa: BLE001 - a job must end in its record, whatever happens
            _log.crash("job crashed", error, job=running.job.id, tool=running.job.tool)
            facts = {"code": "Crash", "message": "Something failed inside Junto."}
            outcome = Outcome(State.FAILED, None, facts)
        running.ends(outcome)

    def _done(self, running: Running) -> None:
        """Tidy up after a job; one that was stopped at once has not even begun."""
        running.ends(_cancelled(running))
        self._running.pop(running.job.id, None)
        self.metrics.job_ended(running.job.tool, running.job.state)
        if not self._running:
            self._busy.clear()

    async def _outcome(self, running: Running, work: Work) -> Outcome:
        async with self._places:
            running.begins()
            try:
                async with asyncio.timeout(self.bounds.seconds) as clock:
                    return await work(running)
            except TimeoutError:
                if not clock.expired():
                    raise
        seconds = self.bounds.seconds
        late = TimeLimitError(f"It took longer than {seconds:.0f} s, which is as long as it may.")
        return Outcome(State.TIMED_OUT, None, {"code": late.code, "message": late.message})

    async def _tell(self, job: Job, wish: Wish, text: str) -> None:
        if running := self._running.get(job.id):
            _fulfil(running, wish, text)
            return
        await self.store.send(Letter(job.id, wish, text))
        if self.signals:
            await self.signals.send({"server": job.server})

    def _hear(self, signal: Signal) -> None:
        if signal.get("server") == self.presence.server:
            self._letters.set()

    async def _attend(self) -> None:
        """While anything runs, be seen to live and look for letters."""
        beaten = -_BEAT_EVERY
        while True:
            await self._busy.wait()
            try:
                if time.monotonic() - beaten >= _BEAT_EVERY:
                    await self.store.beat(self.presence.server)
                    beaten = time.monotonic()
                for letter in await self.store.collect(self.presence.server):
                    if running := self._running.get(letter.job):
                        _fulfil(running, letter.wish, letter.text)
            except JuntoError as error:  # the next second may be better
                _log.warning("jobs not looked after", reason=error.message)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY):
                    await self._letters.wait()
            self._letters.clear()

    async def _drained(self) -> None:
        self._closing = True
        tasks = [each.task for each in self._running.values() if each.task]
        if tasks:
            hurry = asyncio.create_task(self._hurry.wait())
            finished = asyncio.ensure_future(asyncio.wait(tasks))
            await asyncio.wait(
                {finished, hurry},
                timeout=self.bounds.drain,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for each in (hurry, finished):
                each.cancel()
            await asyncio.gather(hurry, finished, return_exceptions=True)
        for running in list(self._running.values()):
            running.stop("The server was stopped.")
        if tasks:
            await asyncio.wait(tasks, timeout=_STOPPING)
        for running in list(self._running.values()):
            _log.warning("a job would not stop", job=running.job.id, tool=running.job.tool)
            running.ends(_cancelled(running))

    async def _written(self) -> None:
        """Have everything that is known here in the store, if it takes it."""
        with contextlib.suppress(JuntoError, TimeoutError):  # the journal tries again, and says so
            async with asyncio.timeout(_STORE_PATIENCE):
                await self._journal.flush()


def _cancelled(running: Running) -> Outcome:
    message = running.stopped or "The work was stopped before it was done."
    error = {"code": "Cancelled", "message": message, "retryable": False}
    return Outcome(State.CANCELLED, running.so_far, error)


def _fulfil(running: Running, wish: Wish, text: str) -> None:
    match wish:
        case Wish.CANCEL:
            running.stop(text)
        case Wish.ANSWER:
            running.hears(json.loads(text))
        case Wish.MESSAGE:
            running.hands_on(text)
