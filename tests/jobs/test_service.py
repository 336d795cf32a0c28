"""Jobs: started, found, stopped, lost; each ends once and keeps what it said."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from junto.domain.errors import InputOutputError, NoRoomError, NotFoundError
from junto.domain.jobs import Entry, Job, JobStore, Kind, Record, State
from junto.domain.signals import Signal
from junto.jobs import service, tidying
from junto.jobs.running import Outcome, Running
from junto.jobs.service import Jobs
from tests.jobs.support import DONE, ME, begun, endless, quick, serving, stored


async def until(look: Callable[[], Awaitable[object]]) -> None:
    """Look until there is something to see; another server, or the clock, brings it about."""
    while not await look():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def _asks(jobs: Jobs, id_: str) -> object:
    return (await jobs.find(ME, id_)).asks


async def _none(jobs: Jobs) -> bool:
    return not await jobs.recent(ME, 1)


async def log(jobs: Jobs, job: Job) -> list[tuple[int, str, str]]:
    return [(e.sequence, e.kind, e.text) for e in await jobs.entries(job, 0, 1000)]


async def test_a_job_ends_with_its_result_and_its_log(tmp_path: Path) -> None:
    async with serving(tmp_path) as jobs:
        running = begun(jobs, quick)
        await running.ended.wait()
        job = await jobs.find(ME, running.job.id)

        assert (job.state, job.result) == (State.COMPLETED, DONE.result)
        assert job.started
        assert job.ended
        assert await log(jobs, job) == [
            (1, "state", "running"),
            (2, "text", "all said"),
            (3, "state", "completed"),
        ]
        assert await jobs.text(job) == "all said"
        assert jobs.count == 0


async def test_what_is_said_is_found_while_it_is_said(tmp_path: Path) -> None:
    async with serving(tmp_path) as jobs:
        running = begun(jobs)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        job = await jobs.find(ME, running.job.id)

        assert job.state is State.RUNNING
        assert await jobs.text(job) == "some words "


async def test_nobody_else_finds_or_stops_a_job(tmp_path: Path) -> None:
    async with serving(tmp_path) as jobs:
        running = begun(jobs)
        calls: list[Callable[[], object]] = [
            lambda: jobs.find("you", running.job.id),
            lambda: jobs.cancel("you", running.job.id, "mine now"),
            lambda: jobs.answer("you", running.job.id, {"a": 1}),
            lambda: jobs.awaited("you", running.job.id, 0),
            lambda: jobs.find(ME, "0" * 32),
        ]
        for call in calls:
            with pytest.raises(NotFoundError, match="without an id"):
                await call()  # type: ignore[misc]

        assert running.stopped is None
        assert await jobs.recent("you", 10) == ()
        assert [job.id for job in await jobs.recent(ME, 10)] == [running.job.id]


async def test_a_cancelled_job_keeps_what_it_said_and_why_it_stopped(tmp_path: Path) -> None:
    async with serving(tmp_path) as jobs:
        running = begun(jobs)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        job = await jobs.cancel(ME, running.job.id, "Enough.")
        again = await jobs.cancel(ME, running.job.id, "More than enough.")

        assert job.state is again.state is State.CANCELLED
        assert job.error == again.error
        assert job.error
        assert job.error["message"] == "Enough."
        assert await jobs.text(job) == "some words "


async def test_a_job_that_waits_for_its_turn_can_be_cancelled(tmp_path: Path) -> None:
    async with serving(tmp_path, concurrent=1) as jobs:
        first, second = begun(jobs), begun(jobs)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = await jobs.find(ME, second.job.id)

        cancelled = await jobs.cancel(ME, second.job.id, "")

        assert waiting.state is State.QUEUED
        assert cancelled.state is State.CANCELLED
        assert cancelled.started is None
        assert (await jobs.find(ME, first.job.id)).state is State.RUNNING


async def test_there_is_an_end_to_how_many_may_wait(tmp_path: Path) -> None:
    async with serving(tmp_path, concurrent=1, waiting=1) as jobs:
        begun(jobs)
        begun(jobs)

        with pytest.raises(NoRoomError, match="Try again later"):
            begun(jobs)


async def test_a_job_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async with serving(tmp_path, seconds=0.01) as jobs:
        running = begun(jobs)
        await running.ended.wait()

        job = await jobs.find(ME, running.job.id)
        assert job.state is State.TIMED_OUT
        assert await jobs.text(job) == "some words "


async def test_work_that_raises_ends_as_failed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def crash(_running: Running) -> Outcome:
        raise ZeroDivisionError

    async with serving(tmp_path) as jobs:
        running = begun(jobs, crash)
        await running.ended.wait()

        job = await jobs.find(ME, running.job.id)
        assert job.state is State.FAILED
        assert job.error
        assert "ZeroDivision" not in str(job.error)
        assert "job crashed" in caplog.text


async def test_its_own_end_comes_before_a_cancel_that_comes_too_late(tmp_path: Path) -> None:
    async with serving(tmp_path) as jobs:
        running = begun(jobs, quick)
        await running.ended.wait()

        running.stop("too late")

        assert (await jobs.cancel(ME, running.job.id, "")).state is State.COMPLETED


async def test_a_question_is_asked_once_and_answered_by_its_owner(tmp_path: Path) -> None:
    answers: list[object] = []

    async def curious(running: Running) -> Outcome:
        answers.extend(
            await asyncio.gather(running.asks("name", {"q": 1}), running.asks("age", {"q": 2}))
        )
        return DONE

    async with serving(tmp_path) as jobs:
        running = begun(jobs, curious)
        await until(lambda: _asks(jobs, running.job.id))
        assert (await jobs.find(ME, running.job.id)).asks == {"name": {"q": 1}, "age": {"q": 2}}

        await jobs.answer(ME, running.job.id, {"name": "Ann", "nothing": 0})
        assert (await jobs.find(ME, running.job.id)).asks == {"age": {"q": 2}}
        await jobs.answer(ME, running.job.id, {"name": "Bob", "age": 7})
        await running.ended.wait()

        assert answers == ["Ann", 7]
        assert (await jobs.find(ME, running.job.id)).asks is None


async def test_waiting_ends_with_the_job_or_with_patience(tmp_path: Path) -> None:
    async with serving(tmp_path) as jobs:
        slow, fast = begun(jobs), begun(jobs, quick)

        assert (await jobs.awaited(ME, fast.job.id, 60)).state is State.COMPLETED
        assert (await jobs.awaited(ME, slow.job.id, 0.01)).state is State.RUNNING


async def test_shutting_down_waits_a_while_then_stops_what_is_left(tmp_path: Path) -> None:
    async def soon(running: Running) -> Outcome:
        await asyncio.sleep(0.05)
        return await quick(running)

    async with serving(tmp_path, drain=0.5) as jobs:
        done, stopped = begun(jobs, soon), begun(jobs)

    async with stored(tmp_path) as store:
        first, second = await store.find(ME, done.job.id), await store.find(ME, stopped.job.id)
        assert first
        assert second
        assert first.state is State.COMPLETED
        assert second.state is State.CANCELLED
        assert second.error
        assert second.error["message"] == "The server was stopped."
        assert await store.text(stopped.job.id) == "some words "
    with pytest.raises(NoRoomError, match="being stopped"):
        begun(jobs)
    assert list((tmp_path / "servers").iterdir()) == []


async def test_work_that_will_not_stop_is_marked_and_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service, "_STOPPING", 0.01)
    release = asyncio.Event()

    async def stubborn(_running: Running) -> Outcome:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return DONE

    async with serving(tmp_path) as jobs:
        running = begun(jobs, stubborn)
        await asyncio.sleep(0)

    async with stored(tmp_path) as store:
        job = await store.find(ME, running.job.id)
        assert job
        assert job.state is State.CANCELLED
    assert "would not stop" in caplog.text
    release.set()
    assert running.task
    await running.task
    assert running.job.state is State.CANCELLED  # the first end counts


class Wires:
    """Carries signals between the servers of one test."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[Signal], None]] = []

    async def send(self, signal: Signal) -> None:
        for listener in self.listeners:
            listener(signal)

    @asynccontextmanager
    async def heard(self, listener: Callable[[Signal], None]) -> AsyncIterator[None]:
        self.listeners.append(listener)
        yield


@pytest.mark.parametrize("wired", [True, False], ids=["with signals", "by the store alone"])
async def test_a_job_is_found_stopped_and_answered_from_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, wired: bool
) -> None:
    monkeypatch.setattr(service, "_LOOK_EVERY", 600 if wired else 0.05)
    wires = Wires() if wired else None
    answers: list[object] = []

    async def curious(running: Running) -> Outcome:
        answers.append(await running.asks("name", {"q": 1}))
        return await endless(running)

    async with (
        serving(tmp_path, signals=wires) as here,
        serving(tmp_path, signals=wires) as there,
    ):
        running = begun(here, curious)
        async with asyncio.timeout(20):
            await until(lambda: there.recent(ME, 1))
            await until(lambda: _asks(there, running.job.id))
            await there.answer(ME, running.job.id, {"name": "Ann"})
            await until(lambda: there.text(running.job))

            job = await there.cancel(ME, running.job.id, "From afar.")

        assert answers == ["Ann"]
        assert job.state is State.CANCELLED
        assert job.error
        assert job.error["message"] == "From afar."


DIES = """
import asyncio, os, sys
from pathlib import Path
from tests.jobs.support import begun, serving
async def main():
    async with serving(Path(sys.argv[1])) as jobs:
        running = begun(jobs)
        await asyncio.sleep(0.05)
        await jobs.detach(running)
        print(running.job.id, flush=True)
        os.kill(os.getpid(), 9)
asyncio.run(main())
"""


async def test_what_a_dead_server_left_is_lost_and_its_words_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    died = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", DIES, str(tmp_path)],
        stdout=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    id_ = died.stdout.decode().strip()

    async with serving(tmp_path) as jobs:
        job = await jobs.find(ME, id_)

        assert job.state is State.LOST
        assert job.error
        assert "ask again" in job.error["message"]
        assert await jobs.text(job) == "some words "
        assert (await log(jobs, job))[-1] == (3, "state", "lost")
        assert "jobs were lost" in caplog.text
        assert (await jobs.cancel(ME, id_, "")).state is State.LOST


async def test_a_server_that_lives_loses_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as here, serving(tmp_path) as there:
        running = begun(here)
        await here.detach(running)

        assert await there.tidy.settle_lost() == 0
        assert not (await there.find(ME, running.job.id)).state.final


async def test_a_server_elsewhere_is_dead_when_it_was_silent_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        stored(tmp_path / "shared") as store,
        serving(tmp_path / "here", store=store) as here,
        serving(tmp_path / "there", store=store) as there,
    ):
        running = begun(here)
        await here.detach(running)
        assert await there.tidy.settle_lost() == 0  # it was heard of just now

        monkeypatch.setattr(tidying, "_DEAD_AFTER", -1.0)
        assert await there.tidy.settle_lost() == 1
        # It lives after all; but what is lost stays lost, for all to see alike.
        assert (await there.find(ME, running.job.id)).state is State.LOST


async def test_a_job_that_was_given_up_elsewhere_is_stopped_here(tmp_path: Path) -> None:
    async with stored(tmp_path) as store, serving(tmp_path, store=store) as jobs:
        running = begun(jobs)
        await jobs.detach(running)
        await store.lose(running.job.server, 1.0, {"code": "Lost"})

        running.says("more")
        async with asyncio.timeout(20):
            await running.ended.wait()

        found = await store.find(ME, running.job.id)
        assert found
        assert found.state is State.LOST


async def test_a_job_that_is_stopped_before_its_first_step_ends_all_the_same(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as jobs:
        running = begun(jobs)
        running.stop("at once")
        async with asyncio.timeout(20):
            await running.ended.wait()
            job = await jobs.find(ME, running.job.id)

        assert job.state is State.CANCELLED
        assert jobs.count == 0


async def test_hurrying_cuts_the_drain_short(tmp_path: Path) -> None:
    async with asyncio.timeout(20):
        async with serving(tmp_path, drain=600) as jobs:
            running = begun(jobs)
            asyncio.get_running_loop().call_later(0.05, jobs.hurry)

    async with stored(tmp_path) as store:
        job = await store.find(ME, running.job.id)
        assert job
        assert job.state is State.CANCELLED


async def test_signs_of_servers_that_died_idle_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "servers"
    folder.mkdir(mode=0o700)
    old, young = folder / "0ld", folder / "y0ung"
    for sign in (old, young):
        sign.touch()
    os.utime(old, (1, 1))
    async with serving(tmp_path) as jobs:
        begun(jobs)
        os.utime(folder / jobs.presence.server, (1, 1))

        jobs.presence.tidy()

        assert {sign.name for sign in folder.iterdir()} == {"y0ung", jobs.presence.server}


class Stuck:
    """A store that never answers while it is stuck."""

    def __init__(self, inner: JobStore) -> None:
        self.inner, self.free = inner, asyncio.Event()
        self.free.set()

    async def write(self, records: Sequence[Record]) -> frozenset[str]:
        await self.free.wait()
        return await self.inner.write(records)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


async def test_a_store_that_is_stuck_holds_up_neither_cancelling_nor_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_STORE_PATIENCE", 0.05)
    monkeypatch.setattr("junto.jobs.journal._LAST_SECONDS", 0.05)
    async with stored(tmp_path) as store, asyncio.timeout(20):
        stuck = Stuck(store)
        async with serving(tmp_path, store=stuck) as jobs:  # type: ignore[arg-type]
            running = begun(jobs)
            await jobs.detach(running)
            stuck.free.clear()

            assert (await jobs.cancel(ME, running.job.id, "now")).state is State.CANCELLED


class Moody:
    """A store that fails as often as it is told to."""

    def __init__(self, inner: JobStore) -> None:
        self.inner, self.failures = inner, 0

    async def write(self, records: Sequence[Record]) -> frozenset[str]:
        if self.failures:
            self.failures -= 1
            # Half of the time it was written all the same, and only the answer was lost.
            if self.failures % 2:
                await self.inner.write(records)
            raise InputOutputError("The database is moody.", retryable=True)
        return await self.inner.write(records)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


async def test_a_moody_store_loses_and_repeats_nothing(tmp_path: Path) -> None:
    async def talkative(running: Running) -> Outcome:
        for number in range(30):
            running.says(f"{number} ")
            running.notes(f"note {number}")
            await asyncio.sleep(0.01)
        return DONE

    async with stored(tmp_path) as store:
        moody = Moody(store)
        async with serving(tmp_path, store=moody) as jobs:  # type: ignore[arg-type]
            jobs._journal.every = 0.02
            running = begun(jobs, talkative)
            for _ in range(5):
                moody.failures = 3
                await asyncio.sleep(0.05)
            await running.ended.wait()
            moody.failures = 0

        entries = await store.entries(running.job.id, 0, 1000)
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
        assert await store.text(running.job.id) == "".join(f"{n} " for n in range(30))
        assert entries[-1].text == "completed"


async def test_a_job_is_not_handed_over_before_it_is_written_down(tmp_path: Path) -> None:
    async with stored(tmp_path) as store:
        moody = Moody(store)
        async with serving(tmp_path, store=moody) as jobs:  # type: ignore[arg-type]
            moody.failures = 1
            running = begun(jobs)

            with pytest.raises(InputOutputError):
                await jobs.detach(running)
            assert not running.job.detached

            await jobs.detach(running)
            assert running.job.detached
            assert await store.find(ME, running.job.id)


async def test_old_jobs_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "_BEFORE", 0.0)
    async with serving(tmp_path) as jobs:
        running = begun(jobs, quick)
        await running.ended.wait()
        await jobs.find(ME, running.job.id)

    async with serving(tmp_path, retention=-1.0) as jobs, asyncio.timeout(20):
        await until(lambda: _none(jobs))


async def test_notes_that_follow_each_other_are_one_entry(tmp_path: Path) -> None:
    async def thinker(running: Running) -> Outcome:
        for _ in range(1000):
            running.notes("thinking")
        running.says("hm")
        running.notes("done")
        return DONE

    async with serving(tmp_path) as jobs:
        running = begun(jobs, thinker)
        await running.ended.wait()

        entries = await jobs.entries(running.job, 0, 100)
        notes = [entry for entry in entries if entry.kind is Kind.NOTE]
        assert [entry.text for entry in notes] == ["thinking", "done"]
        assert isinstance(entries[0], Entry)
