"""Jobs are started, found, stopped and lost; each ends once and keeps its text."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.errors import CapacityExceededError, InputOutputError, NotFoundError
from junto.domain.jobs import (
    Job,
    JobLogEntry,
    JobLogKind,
    JobState,
    JobStore,
    JobUpdate,
    JsonObject,
)
from junto.domain.pubsub import PubSubMessage
from junto.jobs.handle import JobHandle
from junto.jobs.service import JobService
from junto.jobs.timings import JobTimings
from tests.event_loop import poll_until, yield_to_tasks
from tests.jobs.job_services import (
    DONE,
    ME,
    open_job_service,
    open_store,
    run_briefly,
    run_forever,
    start_job,
)


async def _pending_questions(jobs: JobService, id_: str) -> object:
    return (await jobs.find(ME, id_)).asks


async def _has_no_jobs(jobs: JobService) -> bool:
    return not await jobs.list_recent(ME, 1)


async def read_log(jobs: JobService, job: Job) -> list[tuple[int, str, str]]:
    return [(e.sequence, e.kind, e.text) for e in await jobs.list_entries(job, 0, 1000)]


async def test_a_job_ends_with_its_result_and_its_log(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs, run_briefly)
        await handle.ended.wait()
        job = await jobs.find(ME, handle.job.id)

        assert (job.state, job.result) == (JobState.COMPLETED, DONE)
        assert job.started
        assert job.ended
        assert await read_log(jobs, job) == [
            (1, "state", "running"),
            (2, "text", "all said"),
            (3, "state", "completed"),
        ]
        assert await jobs.text(job) == "all said"
        assert jobs.count == 0


async def test_text_can_be_read_while_the_job_is_running(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs)
        await yield_to_tasks(2)

        job = await jobs.find(ME, handle.job.id)

        assert job.state is JobState.RUNNING
        assert await jobs.text(job) == "some words "


async def test_other_users_can_neither_find_nor_stop_a_job(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs)
        calls: list[Callable[[], object]] = [
            lambda: jobs.find("you", handle.job.id),
            lambda: jobs.cancel("you", handle.job.id, "mine now"),
            lambda: jobs.answer("you", handle.job.id, {"a": 1}),
            lambda: jobs.wait_until_done("you", handle.job.id, 0),
            lambda: jobs.find(ME, "0" * 32),
        ]
        for call in calls:
            with pytest.raises(NotFoundError, match="without an id"):
                await call()  # type: ignore[misc]

        assert handle.stop_reason is None
        assert await jobs.list_recent("you", 10) == ()
        assert [job.id for job in await jobs.list_recent(ME, 10)] == [handle.job.id]


async def test_a_cancelled_job_keeps_its_text_and_the_reason(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs)
        await yield_to_tasks(2)

        job = await jobs.cancel(ME, handle.job.id, "Enough.")
        again = await jobs.cancel(ME, handle.job.id, "More than enough.")

        assert job.state is again.state is JobState.CANCELLED
        assert job.error == again.error
        assert job.error
        assert job.error["message"] == "Enough."
        assert await jobs.text(job) == "some words "


async def test_a_queued_job_can_be_cancelled(tmp_path: Path) -> None:
    async with open_job_service(tmp_path, max_concurrent=1) as jobs:
        first, second = start_job(jobs), start_job(jobs)
        await yield_to_tasks(2)
        queued = await jobs.find(ME, second.job.id)

        cancelled = await jobs.cancel(ME, second.job.id, "")

        assert queued.state is JobState.QUEUED
        assert cancelled.state is JobState.CANCELLED
        assert cancelled.started is None
        assert (await jobs.find(ME, first.job.id)).state is JobState.RUNNING


async def test_a_full_queue_rejects_further_jobs(tmp_path: Path) -> None:
    async with open_job_service(tmp_path, max_concurrent=1, max_queued=1) as jobs:
        start_job(jobs)
        start_job(jobs)

        with pytest.raises(CapacityExceededError, match="Try again later"):
            start_job(jobs)


async def test_a_job_that_takes_too_long_times_out(tmp_path: Path) -> None:
    async with open_job_service(tmp_path, timeout_seconds=0.01) as jobs:
        handle = start_job(jobs)
        await handle.ended.wait()

        job = await jobs.find(ME, handle.job.id)
        assert job.state is JobState.TIMED_OUT
        assert await jobs.text(job) == "some words "


async def test_work_that_raises_ends_as_failed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def crash(_handle: JobHandle) -> JsonObject:
        raise ZeroDivisionError

    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs, crash)
        await handle.ended.wait()

        job = await jobs.find(ME, handle.job.id)
        assert job.state is JobState.FAILED
        assert job.error
        assert "ZeroDivision" not in str(job.error)
        assert "job crashed" in caplog.text


async def test_a_completed_job_ignores_a_late_cancel(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs, run_briefly)
        await handle.ended.wait()

        handle.stop("too late")

        assert (await jobs.cancel(ME, handle.job.id, "")).state is JobState.COMPLETED


async def test_a_question_is_asked_once_and_answered_by_its_owner(tmp_path: Path) -> None:
    answers: list[object] = []

    async def ask_questions(handle: JobHandle) -> JsonObject:
        answers.extend(
            await asyncio.gather(handle.ask("name", {"q": 1}), handle.ask("age", {"q": 2}))
        )
        return DONE

    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs, ask_questions)
        await poll_until(lambda: _pending_questions(jobs, handle.job.id))
        assert (await jobs.find(ME, handle.job.id)).asks == {"name": {"q": 1}, "age": {"q": 2}}

        await jobs.answer(ME, handle.job.id, {"name": "Ann", "nothing": 0})
        assert (await jobs.find(ME, handle.job.id)).asks == {"age": {"q": 2}}
        await jobs.answer(ME, handle.job.id, {"name": "Bob", "age": 7})
        await handle.ended.wait()

        assert answers == ["Ann", 7]
        assert (await jobs.find(ME, handle.job.id)).asks is None


async def test_waiting_ends_with_the_job_or_after_the_given_time(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as jobs:
        slow, fast = start_job(jobs), start_job(jobs, run_briefly)

        assert (await jobs.wait_until_done(ME, fast.job.id, 60)).state is JobState.COMPLETED
        assert (await jobs.wait_until_done(ME, slow.job.id, 0.01)).state is JobState.RUNNING


async def test_shutdown_waits_for_the_drain_then_cancels_the_remaining_jobs(tmp_path: Path) -> None:
    async def finish_soon(handle: JobHandle) -> JsonObject:
        await yield_to_tasks(20)
        return await run_briefly(handle)

    async with open_job_service(tmp_path, drain_seconds=0.5) as jobs:
        short, endless = start_job(jobs, finish_soon), start_job(jobs)

    async with open_store(tmp_path) as store:
        first, second = (
            await store.find(ME, short.job.id),
            await store.find(ME, endless.job.id),
        )
        assert first
        assert second
        assert first.state is JobState.COMPLETED
        assert second.state is JobState.CANCELLED
        assert second.error
        assert second.error["message"] == "The server was stopped."
        assert await store.read_text(endless.job.id) == "some words "
    with pytest.raises(CapacityExceededError, match="being stopped"):
        start_job(jobs)
    assert list((tmp_path / "servers").iterdir()) == []


async def test_work_that_ignores_cancellation_is_marked_cancelled_and_abandoned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    release = asyncio.Event()

    async def ignore_cancellation(_handle: JobHandle) -> JsonObject:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return DONE

    timings = JobTimings(stop_timeout_seconds=0.01)
    async with open_job_service(tmp_path, timings=timings) as jobs:
        handle = start_job(jobs, ignore_cancellation)
        await yield_to_tasks()

    async with open_store(tmp_path) as store:
        job = await store.find(ME, handle.job.id)
        assert job
        assert job.state is JobState.CANCELLED
    assert "would not stop" in caplog.text
    release.set()
    assert handle.task
    await handle.task
    assert handle.job.state is JobState.CANCELLED  # the first final state counts


class InMemoryPubSub:
    """Pub/sub between the servers of one test."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[PubSubMessage], None]] = []

    async def publish(self, message: PubSubMessage) -> None:
        for listener in self.listeners:
            listener(message)

    @asynccontextmanager
    async def subscribe(self, on_message: Callable[[PubSubMessage], None]) -> AsyncIterator[None]:
        self.listeners.append(on_message)
        yield


@pytest.mark.parametrize("has_signals", [True, False], ids=["with signals", "store only"])
async def test_a_job_is_found_stopped_and_answered_from_another_server(
    tmp_path: Path, *, has_signals: bool
) -> None:
    timings = JobTimings(poll_interval_seconds=600 if has_signals else 0.05)
    signals = InMemoryPubSub() if has_signals else None
    answers: list[object] = []

    async def ask_then_run_forever(handle: JobHandle) -> JsonObject:
        answers.append(await handle.ask("name", {"q": 1}))
        return await run_forever(handle)

    async with (
        open_job_service(tmp_path, signals=signals, timings=timings) as here,
        open_job_service(tmp_path, signals=signals, timings=timings) as there,
    ):
        handle = start_job(here, ask_then_run_forever)
        await poll_until(lambda: there.list_recent(ME, 1))
        await poll_until(lambda: _pending_questions(there, handle.job.id))
        await there.answer(ME, handle.job.id, {"name": "Ann"})
        await poll_until(lambda: there.text(handle.job))

        job = await there.cancel(ME, handle.job.id, "From afar.")

        assert answers == ["Ann"]
        assert job.state is JobState.CANCELLED
        assert job.error
        assert job.error["message"] == "From afar."


CRASH_SCRIPT = """
import asyncio, os, sys
from pathlib import Path
from tests.event_loop import yield_to_tasks
from tests.jobs.job_services import open_job_service, start_job
async def main():
    async with open_job_service(Path(sys.argv[1])) as jobs:
        handle = start_job(jobs)
        await yield_to_tasks(2)
        await jobs.detach(handle)
        print(handle.job.id, flush=True)
        os.kill(os.getpid(), 9)
asyncio.run(main())
"""


async def test_jobs_of_a_dead_server_are_lost_and_keep_their_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crashed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CRASH_SCRIPT, str(tmp_path)],
        stdout=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    id_ = crashed.stdout.decode().strip()

    async with open_job_service(tmp_path) as jobs:
        job = await jobs.find(ME, id_)

        assert job.state is JobState.LOST
        assert job.error
        assert "ask again" in job.error["message"]
        assert await jobs.text(job) == "some words "
        assert (await read_log(jobs, job))[-1] == (3, "state", "lost")
        assert "jobs were lost" in caplog.text
        assert (await jobs.cancel(ME, id_, "")).state is JobState.LOST


async def test_jobs_of_a_live_server_are_not_lost(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as here, open_job_service(tmp_path) as there:
        handle = start_job(here)
        await here.detach(handle)

        assert await there.reaper.reap_lost() == 0
        assert not (await there.find(ME, handle.job.id)).state.is_final


async def test_a_server_on_another_machine_is_dead_after_a_long_silence(tmp_path: Path) -> None:
    async with (
        open_store(tmp_path / "shared") as store,
        open_job_service(tmp_path / "here", store=store) as here,
        open_job_service(tmp_path / "there", store=store) as there,
    ):
        handle = start_job(here)
        await here.detach(handle)
        assert await there.reaper.reap_lost() == 0  # its last heartbeat is recent

        impatient = replace(there.reaper, timings=JobTimings(dead_after_seconds=-1.0))
        assert await impatient.reap_lost() == 1
        # The server is alive after all, but a lost job stays lost, so that every server agrees.
        assert (await there.find(ME, handle.job.id)).state is JobState.LOST


async def test_a_job_marked_lost_by_another_server_is_stopped(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store, open_job_service(tmp_path, store=store) as jobs:
        handle = start_job(jobs)
        await jobs.detach(handle)
        await store.mark_lost(handle.job.server, 1.0, {"code": "Lost"})

        handle.add_text("more")
        async with asyncio.timeout(20):
            await handle.ended.wait()

        found = await store.find(ME, handle.job.id)
        assert found
        assert found.state is JobState.LOST


async def test_a_job_stopped_before_its_first_step_is_cancelled(
    tmp_path: Path,
) -> None:
    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs)
        handle.stop("at once")
        async with asyncio.timeout(20):
            await handle.ended.wait()
            job = await jobs.find(ME, handle.job.id)

        assert job.state is JobState.CANCELLED
        assert jobs.count == 0


async def test_skip_drain_cancels_the_remaining_jobs_at_once(tmp_path: Path) -> None:
    async with asyncio.timeout(20):
        async with open_job_service(tmp_path, drain_seconds=600) as jobs:
            handle = start_job(jobs)
            asyncio.get_running_loop().call_later(0.05, jobs.skip_drain)

    async with open_store(tmp_path) as store:
        job = await store.find(ME, handle.job.id)
        assert job
        assert job.state is JobState.CANCELLED


async def test_stale_markers_of_dead_servers_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "servers"
    folder.mkdir(mode=0o700)
    old, young = folder / "0ld", folder / "y0ung"
    for marker in (old, young):
        marker.touch()
    os.utime(old, (1, 1))
    async with open_job_service(tmp_path) as jobs:
        start_job(jobs)
        os.utime(folder / jobs.liveness.server_id, (1, 1))

        jobs.liveness.remove_stale_markers()

        assert {marker.name for marker in folder.iterdir()} == {"y0ung", jobs.liveness.server_id}


class BlockingStore:
    """A store whose writes wait while it is not `unblocked`."""

    def __init__(self, inner: JobStore) -> None:
        self.inner, self.unblocked = inner, asyncio.Event()
        self.unblocked.set()

    async def save_updates(self, updates: Sequence[JobUpdate]) -> frozenset[str]:
        await self.unblocked.wait()
        return await self.inner.save_updates(updates)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


async def test_a_blocked_store_delays_neither_cancelling_nor_shutdown(tmp_path: Path) -> None:
    timings = JobTimings(store_timeout_seconds=0.05, final_flush_timeout_seconds=0.05)
    async with open_store(tmp_path) as store, asyncio.timeout(20):
        blocking = BlockingStore(store)
        async with open_job_service(tmp_path, store=blocking, timings=timings) as jobs:  # type: ignore[arg-type]
            handle = start_job(jobs)
            # The writer saves the job by itself; `detach` could time out on a busy machine.
            await poll_until(lambda: store.find(ME, handle.job.id))
            blocking.unblocked.clear()

            assert (await jobs.cancel(ME, handle.job.id, "now")).state is JobState.CANCELLED


class FlakyStore:
    """A store that fails the next `failures` writes, and sets `tried` with each write."""

    def __init__(self, inner: JobStore) -> None:
        self.inner, self.failures, self.tried = inner, 0, asyncio.Event()

    async def save_updates(self, updates: Sequence[JobUpdate]) -> frozenset[str]:
        self.tried.set()
        if self.failures:
            self.failures -= 1
            # Every second failure happens after the write, as when only the reply is lost.
            if self.failures % 2:
                await self.inner.save_updates(updates)
            raise InputOutputError("The database is moody.", retryable=True)
        return await self.inner.save_updates(updates)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


async def test_a_flaky_store_neither_loses_nor_repeats_entries(tmp_path: Path) -> None:
    async def report_often(handle: JobHandle) -> JsonObject:
        for number in range(30):
            if number % 6 == 0:
                flaky.failures = 3
            flaky.tried.clear()
            handle.add_text(f"{number} ")
            handle.set_status(f"note {number}")
            await flaky.tried.wait()
        return DONE

    timings = JobTimings(flush_interval_seconds=0.001)
    async with open_store(tmp_path) as store:
        flaky = FlakyStore(store)
        async with open_job_service(tmp_path, store=flaky, timings=timings) as jobs:  # type: ignore[arg-type]
            handle = start_job(jobs, report_often)
            await handle.ended.wait()

        entries = await store.read_log(handle.job.id, 0, 1000)
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
        assert await store.read_text(handle.job.id) == "".join(f"{n} " for n in range(30))
        assert entries[-1].text == "completed"


async def test_a_job_is_detached_only_once_it_is_saved(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        flaky = FlakyStore(store)
        async with open_job_service(tmp_path, store=flaky) as jobs:  # type: ignore[arg-type]
            flaky.failures = 1
            handle = start_job(jobs)

            with pytest.raises(InputOutputError):
                await jobs.detach(handle)
            assert not handle.job.detached

            await jobs.detach(handle)
            assert handle.job.detached
            assert await store.find(ME, handle.job.id)


async def test_old_jobs_are_deleted(tmp_path: Path) -> None:
    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs, run_briefly)
        await handle.ended.wait()
        await jobs.find(ME, handle.job.id)

    timings = JobTimings(reap_delay_seconds=0.0)
    async with open_job_service(tmp_path, timings=timings, retention_seconds=-1.0) as jobs:
        await poll_until(lambda: _has_no_jobs(jobs))


async def test_repeated_status_notes_are_logged_once(tmp_path: Path) -> None:
    async def repeat_status(handle: JobHandle) -> JsonObject:
        for _ in range(1000):
            handle.set_status("thinking")
        handle.add_text("hm")
        handle.set_status("done")
        return DONE

    async with open_job_service(tmp_path) as jobs:
        handle = start_job(jobs, repeat_status)
        await handle.ended.wait()

        entries = await jobs.list_entries(handle.job, 0, 100)
        notes = [entry for entry in entries if entry.kind is JobLogKind.NOTE]
        assert [entry.text for entry in notes] == ["thinking", "done"]
        assert isinstance(entries[0], JobLogEntry)
