"""Contract tests for every job store: SQLite file, in-memory SQLite, PostgreSQL."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.jobs import (
    Job,
    JobCommand,
    JobLogEntry,
    JobLogKind,
    JobMailItem,
    JobState,
    JobStore,
    JobUpdate,
)
from junto.runtime.lazy import Lazy
from junto.storage.postgres.database import PostgresDatabase as Postgres
from junto.storage.postgres.jobs import PostgresJobs
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from junto.storage.sqlite.jobs import SqliteJobs

ME = "me"


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JobStore]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield PostgresJobs(Lazy(lambda: Postgres.open(url), stack))
        else:
            path = tmp_path / "junto.db" if request.param == "file" else None
            yield SqliteJobs(Lazy(lambda: Sqlite.open(path), stack))


def build_job(id_: str = "j1", **changes: object) -> Job:
    base = Job(id=id_, owner=ME, tool="chat", digest="d", server="s1", created=100.0, updated=100.0)
    return replace(base, **changes)  # type: ignore[arg-type]


def finish_job(job: Job, state: JobState = JobState.COMPLETED, at: float = 110.0) -> Job:
    return replace(job, state=state, updated=at, ended=at)


def entry(sequence: int, text: str = "word ", kind: JobLogKind = JobLogKind.TEXT) -> JobLogEntry:
    return JobLogEntry(sequence, 100.0 + sequence, kind, text)


async def test_a_job_is_stored_with_all_its_fields_and_its_log(store: JobStore) -> None:
    job = build_job(
        state=JobState.FAILED,
        detached=True,
        started=101.0,
        ended=102.5,
        usage={"inputTokens": 3},
        result={"content": [{"type": "text", "text": "a\0 ☃"}], "isError": True},
        error={"code": "X"},
        asks={"k": {"method": "m"}},
    )

    await store.save_updates(
        [JobUpdate(job, (entry(1, "a\0b"), entry(2, "{}", JobLogKind.MESSAGE)))]
    )

    assert await store.find(ME, "j1") == job
    assert await store.read_log("j1", 0, 10) == (
        entry(1, "a b"),
        entry(2, "{}", JobLogKind.MESSAGE),
    )


async def test_only_its_owner_finds_a_job(store: JobStore) -> None:
    await store.save_updates([JobUpdate(build_job())])

    assert await store.find("you", "j1") is None
    assert await store.list_recent("you", 10) == ()
    assert await store.find(ME, "j2") is None


async def test_recent_jobs_are_listed_latest_first_without_their_results(store: JobStore) -> None:
    jobs = [build_job(f"j{n}", created=100.0 + n, result={"a": 1}) for n in range(4)]

    await store.save_updates([JobUpdate(job) for job in jobs])

    recent = await store.list_recent(ME, 3)
    assert [(job.id, job.result) for job in recent] == [("j3", None), ("j2", None), ("j1", None)]


async def test_saving_updates_is_idempotent(store: JobStore) -> None:
    update = JobUpdate(build_job(state=JobState.RUNNING), (entry(1), entry(2)))

    await store.save_updates([update])
    await store.save_updates([update])
    await store.save_updates([JobUpdate(update.job, (entry(2), entry(3)))])

    assert [each.sequence for each in await store.read_log("j1", 0, 10)] == [1, 2, 3]


async def test_a_log_is_read_after_a_given_sequence_number(store: JobStore) -> None:
    await store.save_updates(
        [JobUpdate(build_job(), tuple(entry(n, f"{n} ") for n in range(1, 8)))]
    )

    assert [each.sequence for each in await store.read_log("j1", 2, 3)] == [3, 4, 5]
    assert await store.read_log("j1", 7, 3) == ()
    assert await store.read_text("j1") == "1 2 3 4 5 6 7 "


async def test_the_text_consists_of_the_text_entries_only(store: JobStore) -> None:
    entries = (
        entry(1, "running", JobLogKind.STATE),
        entry(2, "a"),
        entry(3, "n", JobLogKind.NOTE),
        entry(4),
    )

    await store.save_updates([JobUpdate(build_job(), entries)])

    assert await store.read_text("j1") == "aword "
    assert await store.read_text("nobody") == ""


async def test_a_lost_job_stays_lost(store: JobStore) -> None:
    job = build_job(state=JobState.RUNNING, asks={"k": {}})
    await store.save_updates([JobUpdate(job, (entry(1),)), JobUpdate(build_job("j2", server="s2"))])

    lost_count = await store.mark_lost("s1", 120.0, {"code": "Lost"})
    rejected = await store.save_updates([JobUpdate(finish_job(job, at=130.0), (entry(2, "late"),))])

    assert rejected == {"j1"}
    found = await store.find(ME, "j1")
    assert lost_count == 1
    assert found
    assert (found.state, found.ended, found.error) == (JobState.LOST, 120.0, {"code": "Lost"})
    assert found.asks is None
    assert [(e.sequence, e.text) for e in await store.read_log("j1", 0, 9)] == [
        (1, "word "),
        (2, "lost"),
    ]
    assert (await store.find(ME, "j2")) == build_job("j2", server="s2")


async def test_a_finished_job_is_not_marked_lost(store: JobStore) -> None:
    await store.save_updates([JobUpdate(finish_job(build_job()))])

    assert await store.mark_lost("s1", 120.0, {}) == 0
    assert await store.find(ME, "j1") == finish_job(build_job())


async def test_a_job_is_marked_lost_once_by_concurrent_callers(store: JobStore) -> None:
    await store.save_updates([JobUpdate(build_job(f"j{n}"), (entry(1),)) for n in range(20)])

    lost = await asyncio.gather(*(store.mark_lost("s1", 120.0, {}) for _ in range(5)))

    assert sum(lost) == 20
    assert [e.sequence for e in await store.read_log("j7", 0, 9)] == [1, 2]


async def test_busy_servers_are_listed_with_the_age_of_their_last_heartbeat(
    store: JobStore,
) -> None:
    await store.save_updates(
        [JobUpdate(build_job()), JobUpdate(finish_job(build_job("j2", server="s2")))]
    )
    before = await store.list_busy_servers()

    await store.record_heartbeat("s1")
    await store.record_heartbeat("s1")
    await store.record_heartbeat("s2")
    after = await store.list_busy_servers()
    # A job that was just saved counts as a heartbeat of its server.
    await store.save_updates([JobUpdate(build_job("j3", server="s3", updated=time.time()))])

    assert (await store.list_busy_servers())["s3"] < 60
    assert set(before) == set(after) == {"s1"}
    assert before["s1"] > 1000
    assert after["s1"] < 60


async def test_a_command_is_delivered_once_to_the_server_of_its_job(store: JobStore) -> None:
    await store.save_updates([JobUpdate(build_job()), JobUpdate(build_job("j2", server="s2"))])
    first, second = (
        JobMailItem("j1", JobCommand.CANCEL, "enough"),
        JobMailItem("j1", JobCommand.ANSWER, '{"a": 1}'),
    )
    for command in (
        first,
        second,
        JobMailItem("j2", JobCommand.CANCEL, ""),
        JobMailItem("j9", JobCommand.CANCEL, ""),
    ):
        await store.send_command(command)

    assert await store.take_commands("s1") == (first, second)
    assert await store.take_commands("s1") == ()
    assert await store.take_commands("s2") == (JobMailItem("j2", JobCommand.CANCEL, ""),)


async def test_commands_to_a_finished_job_are_dropped(store: JobStore) -> None:
    await store.save_updates([JobUpdate(finish_job(build_job()))])

    await store.send_command(JobMailItem("j1", JobCommand.CANCEL, ""))

    assert await store.take_commands("s1") == ()


async def test_expired_jobs_are_deleted_with_their_logs(store: JobStore) -> None:
    old, new, unfinished = (
        finish_job(build_job(old_id := "old")),
        finish_job(build_job("new"), at=200.0),
        build_job("open"),
    )
    await store.save_updates([JobUpdate(job, (entry(1),)) for job in (old, new, unfinished)])

    assert await store.delete_expired(150.0) == 1
    assert await store.find(ME, old_id) is None
    assert await store.read_text(old_id) == ""
    assert {job.id for job in await store.list_recent(ME, 9)} == {"new", "open"}


async def test_two_hundred_jobs_saved_concurrently_are_all_stored(store: JobStore) -> None:
    async def save_three_entries(number: int) -> None:
        for sequence in range(1, 4):
            await store.save_updates([JobUpdate(build_job(f"j{number}"), (entry(sequence),))])

    await asyncio.gather(*(save_three_entries(number) for number in range(200)))

    for number in range(0, 200, 20):
        assert [e.sequence for e in await store.read_log(f"j{number}", 0, 9)] == [1, 2, 3]
