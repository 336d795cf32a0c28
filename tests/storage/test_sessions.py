"""Contract tests for every session store: SQLite file, in-memory SQLite, PostgreSQL."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.sessions import Session, SessionStore, TranscriptLine
from junto.runtime.lazy import Lazy
from junto.storage.postgres.database import PostgresDatabase as Postgres
from junto.storage.postgres.sessions import PostgresSessions
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from junto.storage.sqlite.sessions import SqliteSessions

ME, YOU = "me", "you"
ID = "5f0c1c1e-0d5f-4a39-9d1b-3f9b6a6f2a01"
OTHER = "5f0c1c1e-0d5f-4a39-9d1b-3f9b6a6f2a02"
Pair = tuple[SessionStore, SessionStore]


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionStore]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            yield postgres_store(request.getfixturevalue("postgres_url"), stack)
        else:
            yield sqlite_store(tmp_path / "junto.db" if request.param == "file" else None, stack)


@pytest.fixture(params=["file", "postgres"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    """Open the same database twice, as two servers do."""
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield postgres_store(url, stack), postgres_store(url, stack)
        else:
            path = tmp_path / "junto.db"
            yield sqlite_store(path, stack), sqlite_store(path, stack)


def postgres_store(url: str, stack: AsyncExitStack) -> SessionStore:
    return PostgresSessions(Lazy(lambda: Postgres.open(url), stack))


def sqlite_store(path: Path | None, stack: AsyncExitStack) -> SessionStore:
    return SqliteSessions(Lazy(lambda: Sqlite.open(path), stack))


def build_session(id_: str = ID, **changes: object) -> Session:
    base = Session(id=id_, owner=ME, cwd="/a/b", cost=0.0, created=100.0, updated=100.0)
    return replace(base, **changes)  # type: ignore[arg-type]


def line(word: object, uuid: str | None = None, part: str = "") -> TranscriptLine:
    return TranscriptLine(part, json.dumps({"word": word}), uuid)


async def test_a_session_is_stored_unchanged(store: SessionStore) -> None:
    session = build_session(cwd="/a/ünïcode ☃", cost=0.123456789, created=1760000000.123456)

    await store.save(session)

    assert await store.find(ME, ID) == session
    assert await store.load_lines(ID) == ()


async def test_only_its_owner_finds_a_session(store: SessionStore) -> None:
    await store.save(build_session())

    assert await store.find(YOU, ID) is None
    assert await store.find(ME, OTHER) is None


async def test_saving_a_session_again_keeps_its_creation_time_and_lines(
    store: SessionStore,
) -> None:
    await store.save(build_session())
    await store.append(ID, [line(1)], 110.0)

    await store.save(build_session(cwd="/c", cost=2.5, created=120.0, updated=120.0))

    assert await store.find(ME, ID) == build_session(
        cwd="/c", cost=2.5, created=100.0, updated=120.0
    )
    assert await store.load_lines(ID) == (line(1),)


async def test_another_owner_cannot_take_over_a_session(store: SessionStore) -> None:
    await store.save(build_session())

    await store.save(build_session(owner=YOU, cwd="/c", cost=2.5, updated=120.0))

    assert await store.find(ME, ID) == build_session()
    assert await store.find(YOU, ID) is None


async def test_lines_are_loaded_in_the_order_they_were_appended(store: SessionStore) -> None:
    lines = [line(n, f"u{9 - n}", part) for n in range(9) for part in ("z", "", "subagents/a")]
    for session in (build_session(), build_session(OTHER)):
        await store.save(session)

    for start in range(0, len(lines), 4):
        await store.append(ID, lines[start : start + 4], 110.0 + start)
        await store.append(OTHER, [line(start)], 110.0)

    assert await store.load_lines(ID) == tuple(lines)
    assert await store.find(ME, ID) == build_session(updated=110.0 + start)


async def test_a_line_with_a_uuid_is_stored_once_per_part(store: SessionStore) -> None:
    first, elsewhere = line("first", "u1"), line("first", "u1", "subagents/a")
    await store.save(build_session())
    await store.save(build_session(OTHER))

    await store.append(ID, [first, line("again", "u1"), elsewhere], 110.0)
    await store.append(ID, [line("later", "u1"), line("new", "u2")], 120.0)
    await store.append(OTHER, [first], 120.0)

    assert await store.load_lines(ID) == (first, elsewhere, line("new", "u2"))
    assert await store.load_lines(OTHER) == (first,)


async def test_lines_without_a_uuid_are_always_stored(store: SessionStore) -> None:
    await store.save(build_session())

    await store.append(ID, [line("same"), line("same")], 110.0)
    await store.append(ID, [line("same")], 120.0)

    assert await store.load_lines(ID) == (line("same"),) * 3


async def test_appending_nothing_updates_the_timestamp(store: SessionStore) -> None:
    await store.save(build_session())

    await store.append(ID, [], 110.0)

    assert await store.find(ME, ID) == build_session(updated=110.0)


async def test_appends_to_an_unknown_session_are_ignored(store: SessionStore) -> None:
    await store.append(ID, [line(1, "u1")], 110.0)
    await store.set_cost(ID, 1.0, 110.0)

    assert await store.load_lines(ID) == ()
    assert await store.find(ME, ID) is None
    await store.save(build_session())
    assert await store.load_lines(ID) == ()


async def test_setting_the_cost_replaces_it(store: SessionStore) -> None:
    await store.save(build_session(cost=1.0))
    await store.save(build_session(OTHER))

    await store.set_cost(ID, 1.75, 110.0)

    assert await store.find(ME, ID) == build_session(cost=1.75, updated=110.0)
    assert await store.find(ME, OTHER) == build_session(OTHER)


async def test_idle_sessions_expire_with_their_lines(store: SessionStore) -> None:
    await store.save(build_session())
    await store.append(ID, [line(1, "u1"), line(2)], 110.0)
    await store.save(build_session(OTHER))
    await store.append(OTHER, [line(1, "u1")], 150.0)

    assert await store.delete_expired(150.0) == 1
    assert await store.delete_expired(150.0) == 0

    assert await store.find(ME, ID) is None
    assert await store.load_lines(ID) == ()
    assert await store.load_lines(OTHER) == (line(1, "u1"),)
    await store.save(build_session())  # the old lines do not come back
    assert await store.load_lines(ID) == ()


async def test_two_thousand_lines_fit_into_one_append(store: SessionStore) -> None:
    lines = [line("x" * 500, f"u{number}") for number in range(2000)]
    await store.save(build_session())

    await store.append(ID, lines, 110.0)
    await store.append(ID, lines, 120.0)

    assert await store.load_lines(ID) == tuple(lines)


async def test_every_character_survives_as_a_json_escape(store: SessionStore) -> None:
    # Includes NUL and every lone surrogate, both separate and next to each other.
    halves = [chr(code) for code in range(0xD800, 0xE000)]
    everything = line(["".join(map(chr, range(0x10000))), *halves, "☃😀"], "u1", "sub/a")
    await store.save(build_session())

    await store.append(ID, [everything], 110.0)

    assert await store.load_lines(ID) == (everything,)


async def test_characters_that_no_database_accepts_are_replaced(store: SessionStore) -> None:
    await store.save(build_session(cwd="/a/\udcff"))

    await store.append(ID, [TranscriptLine("a\0", '"\0 \ud800"', "u\0"), line(1)], 110.0)

    assert await store.load_lines(ID) == (TranscriptLine("a ", '"  ?"', "u "), line(1))
    assert await store.find(ME, ID) == build_session(cwd="/a/?", updated=110.0)


async def test_two_servers_appending_concurrently_lose_nothing(pair: Pair) -> None:
    def batch(writer: int, number: int) -> list[TranscriptLine]:
        return [line([writer, number, n], f"{writer}-{number}-{n}") for n in range(5)]

    async def append_batches(writer: int) -> None:
        for number in range(20):
            await pair[writer].append(ID, batch(writer, number), 110.0)

    await pair[0].save(build_session())
    await asyncio.gather(append_batches(0), append_batches(1))

    lines = await pair[1].load_lines(ID)
    assert len(lines) == 200
    batches = [list(lines[start : start + 5]) for start in range(0, 200, 5)]
    for writer in (0, 1):
        mine = [each for each in batches if each[0].uuid and each[0].uuid.startswith(f"{writer}-")]
        assert mine == [batch(writer, number) for number in range(20)]


async def test_two_servers_appending_the_same_lines_store_them_once(pair: Pair) -> None:
    lines = [line(number, f"u{number}") for number in range(100)]
    await pair[0].save(build_session())

    await asyncio.gather(*(store.append(ID, lines, 110.0) for store in pair * 3))

    assert await pair[0].load_lines(ID) == tuple(lines)


async def test_only_one_of_two_owners_creates_the_same_session(pair: Pair) -> None:
    await asyncio.gather(pair[0].save(build_session()), pair[1].save(build_session(owner=YOU)))

    found = [await pair[0].find(owner, ID) for owner in (ME, YOU)]
    assert sum(session is not None for session in found) == 1


async def test_a_session_lease_is_exclusive_until_it_is_released_or_expires(pair: Pair) -> None:
    first, second = pair
    await first.save(build_session())

    assert await first.acquire_lease(ID, "a", until=110, now=100)
    assert not await second.acquire_lease(ID, "b", until=115, now=105)
    assert await first.acquire_lease(ID, "a", until=120, now=110)  # renewed
    await second.release_lease(ID, "b")  # not the holder
    assert not await second.acquire_lease(ID, "b", until=125, now=115)
    await first.release_lease(ID, "a")
    assert await second.acquire_lease(ID, "b", until=130, now=120)
    assert await first.acquire_lease(ID, "a", until=140, now=131)  # the lease of b has expired
    assert not await first.acquire_lease(OTHER, "a", until=140, now=131)
