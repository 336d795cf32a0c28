"""What every store of jobs must do, in a file, in memory and in PostgreSQL."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.jobs import Entry, Job, JobStore, Kind, Letter, Record, State, Wish
from junto.storage.lazily import Lazily
from junto.storage.postgres.database import Database as Postgres
from junto.storage.postgres.jobs import PostgresJobs
from junto.storage.sqlite.database import Database as Sqlite
from junto.storage.sqlite.jobs import SqliteJobs

ME = "me"


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JobStore]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield PostgresJobs(Lazily(lambda: Postgres.opened(url), stack))
        else:
            path = tmp_path / "junto.db" if request.param == "file" else None
            yield SqliteJobs(Lazily(lambda: Sqlite.opened(path), stack))


def fresh(id_: str = "j1", **more: object) -> Job:
    base = Job(id=id_, owner=ME, tool="chat", digest="d", server="s1", created=100.0, updated=100.0)
    return replace(base, **more)  # type: ignore[arg-type]


def ended(job: Job, state: State = State.COMPLETED, at: float = 110.0) -> Job:
    return replace(job, state=state, updated=at, ended=at)


def entry(sequence: int, text: str = "word ", kind: Kind = Kind.TEXT) -> Entry:
    return Entry(sequence, 100.0 + sequence, kind, text)


async def test_a_record_is_kept_with_all_that_belongs_to_it(store: JobStore) -> None:
    job = fresh(
        state=State.FAILED,
        detached=True,
        started=101.0,
        ended=102.5,
        usage={"inputTokens": 3},
        result={"content": [{"type": "text", "text": "a\0 ☃"}], "isError": True},
        error={"code": "X"},
        asks={"k": {"method": "m"}},
    )

    await store.write([Record(job, (entry(1, "a\0b"), entry(2, "{}", Kind.MESSAGE)))])

    assert await store.find(ME, "j1") == job
    assert await store.entries("j1", 0, 10) == (entry(1, "a b"), entry(2, "{}", Kind.MESSAGE))


async def test_only_its_owner_finds_a_job(store: JobStore) -> None:
    await store.write([Record(fresh())])

    assert await store.find("you", "j1") is None
    assert await store.recent("you", 10) == ()
    assert await store.find(ME, "j2") is None


async def test_the_latest_jobs_come_first_and_without_what_may_be_large(store: JobStore) -> None:
    jobs = [fresh(f"j{n}", created=100.0 + n, result={"a": 1}) for n in range(4)]

    await store.write([Record(job) for job in jobs])

    recent = await store.recent(ME, 3)
    assert [(job.id, job.result) for job in recent] == [("j3", None), ("j2", None), ("j1", None)]


async def test_writing_twice_is_the_same_as_once(store: JobStore) -> None:
    record = Record(fresh(state=State.RUNNING), (entry(1), entry(2)))

    await store.write([record])
    await store.write([record])
    await store.write([Record(record.job, (entry(2), entry(3)))])

    assert [each.sequence for each in await store.entries("j1", 0, 10)] == [1, 2, 3]


async def test_a_log_is_read_from_where_one_left_off(store: JobStore) -> None:
    await store.write([Record(fresh(), tuple(entry(n, f"{n} ") for n in range(1, 8)))])

    assert [each.sequence for each in await store.entries("j1", 2, 3)] == [3, 4, 5]
    assert await store.entries("j1", 7, 3) == ()
    assert await store.text("j1") == "1 2 3 4 5 6 7 "


async def test_the_text_is_the_pieces_of_the_answer_and_nothing_else(store: JobStore) -> None:
    pieces = (entry(1, "running", Kind.STATE), entry(2, "a"), entry(3, "n", Kind.NOTE), entry(4))

    await store.write([Record(fresh(), pieces)])

    assert await store.text("j1") == "aword "
    assert await store.text("nobody") == ""


async def test_what_is_lost_stays_lost(store: JobStore) -> None:
    running = fresh(state=State.RUNNING, asks={"k": {}})
    await store.write([Record(running, (entry(1),)), Record(fresh("j2", server="s2"))])

    lost = await store.lose("s1", 120.0, {"code": "Lost"})
    told = await store.write([Record(ended(running, at=130.0), (entry(2, "late"),))])

    assert told == {"j1"}
    found = await store.find(ME, "j1")
    assert lost == 1
    assert found
    assert (found.state, found.ended, found.error) == (State.LOST, 120.0, {"code": "Lost"})
    assert found.asks is None
    assert [(e.sequence, e.text) for e in await store.entries("j1", 0, 9)] == [
        (1, "word "),
        (2, "lost"),
    ]
    assert (await store.find(ME, "j2")) == fresh("j2", server="s2")


async def test_what_has_ended_is_not_lost(store: JobStore) -> None:
    await store.write([Record(ended(fresh()))])

    assert await store.lose("s1", 120.0, {}) == 0
    assert await store.find(ME, "j1") == ended(fresh())


async def test_a_job_is_lost_once_however_many_look(store: JobStore) -> None:
    await store.write([Record(fresh(f"j{n}"), (entry(1),)) for n in range(20)])

    lost = await asyncio.gather(*(store.lose("s1", 120.0, {}) for _ in range(5)))

    assert sum(lost) == 20
    assert [e.sequence for e in await store.entries("j7", 0, 9)] == [1, 2]


async def test_servers_with_unfinished_jobs_are_known_with_their_last_sign(store: JobStore) -> None:
    await store.write([Record(fresh()), Record(ended(fresh("j2", server="s2")))])
    silent = await store.unfinished()

    await store.beat("s1")
    await store.beat("s1")
    await store.beat("s2")
    heard = await store.unfinished()
    # A job that was written just now shows that its server lives, too.
    await store.write([Record(fresh("j3", server="s3", updated=time.time()))])

    assert (await store.unfinished())["s3"] < 60
    assert set(silent) == set(heard) == {"s1"}
    assert silent["s1"] > 1000
    assert heard["s1"] < 60


async def test_a_letter_reaches_the_server_of_its_job_once(store: JobStore) -> None:
    await store.write([Record(fresh()), Record(fresh("j2", server="s2"))])
    first, second = Letter("j1", Wish.CANCEL, "enough"), Letter("j1", Wish.ANSWER, '{"a": 1}')
    for letter in (first, second, Letter("j2", Wish.CANCEL, ""), Letter("j9", Wish.CANCEL, "")):
        await store.send(letter)

    assert await store.collect("s1") == (first, second)
    assert await store.collect("s1") == ()
    assert await store.collect("s2") == (Letter("j2", Wish.CANCEL, ""),)


async def test_nobody_writes_to_a_job_that_has_ended(store: JobStore) -> None:
    await store.write([Record(ended(fresh()))])

    await store.send(Letter("j1", Wish.CANCEL, ""))

    assert await store.collect("s1") == ()


async def test_old_jobs_are_swept_with_all_that_belongs_to_them(store: JobStore) -> None:
    old, new, open_ = ended(fresh(at := "old")), ended(fresh("new"), at=200.0), fresh("open")
    await store.write([Record(job, (entry(1),)) for job in (old, new, open_)])

    assert await store.sweep(150.0) == 1
    assert await store.find(ME, at) is None
    assert await store.text(at) == ""
    assert {job.id for job in await store.recent(ME, 9)} == {"new", "open"}


async def test_two_hundred_jobs_written_at_once_are_all_there(store: JobStore) -> None:
    async def grow(number: int) -> None:
        for sequence in range(1, 4):
            await store.write([Record(fresh(f"j{number}"), (entry(sequence),))])

    await asyncio.gather(*(grow(number) for number in range(200)))

    for number in range(0, 200, 20):
        assert [e.sequence for e in await store.entries(f"j{number}", 0, 9)] == [1, 2, 3]
