"""What every store of sessions must do, in a file, in memory and in PostgreSQL."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.sessions import Line, Session, SessionStore
from junto.storage.lazily import Lazily
from junto.storage.postgres.database import Database as Postgres
from junto.storage.postgres.sessions import PostgresSessions
from junto.storage.sqlite.database import Database as Sqlite
from junto.storage.sqlite.sessions import SqliteSessions

ME, YOU = "me", "you"
ID = "5f0c1c1e-0d5f-4a39-9d1b-3f9b6a6f2a01"
OTHER = "5f0c1c1e-0d5f-4a39-9d1b-3f9b6a6f2a02"
Pair = tuple[SessionStore, SessionStore]


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionStore]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            yield server(request.getfixturevalue("postgres_url"), stack)
        else:
            yield file(tmp_path / "junto.db" if request.param == "file" else None, stack)


@pytest.fixture(params=["file", "postgres"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    """Open the same database twice, as two servers do."""
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield server(url, stack), server(url, stack)
        else:
            path = tmp_path / "junto.db"
            yield file(path, stack), file(path, stack)


def server(url: str, stack: AsyncExitStack) -> SessionStore:
    return PostgresSessions(Lazily(lambda: Postgres.opened(url), stack))


def file(path: Path | None, stack: AsyncExitStack) -> SessionStore:
    return SqliteSessions(Lazily(lambda: Sqlite.opened(path), stack))


def fresh(id_: str = ID, **more: object) -> Session:
    base = Session(id=id_, owner=ME, cwd="/a/b", cost=0.0, created=100.0, updated=100.0)
    return replace(base, **more)  # type: ignore[arg-type]


def line(word: object, uuid: str | None = None, part: str = "") -> Line:
    return Line(part, json.dumps({"word": word}), uuid)


async def test_a_session_is_kept_as_it_is(store: SessionStore) -> None:
    session = fresh(cwd="/a/ünïcode ☃", cost=0.123456789, created=1760000000.123456)

    await store.begin(session)

    assert await store.find(ME, ID) == session
    assert await store.lines(ID) == ()


async def test_only_its_owner_finds_a_session(store: SessionStore) -> None:
    await store.begin(fresh())

    assert await store.find(YOU, ID) is None
    assert await store.find(ME, OTHER) is None


async def test_a_session_begun_again_keeps_its_birth_and_its_lines(store: SessionStore) -> None:
    await store.begin(fresh())
    await store.append(ID, [line(1)], 110.0)

    await store.begin(fresh(cwd="/c", cost=2.5, created=120.0, updated=120.0))

    assert await store.find(ME, ID) == fresh(cwd="/c", cost=2.5, created=100.0, updated=120.0)
    assert await store.lines(ID) == (line(1),)


async def test_nobody_takes_over_the_session_of_another(store: SessionStore) -> None:
    await store.begin(fresh())

    await store.begin(fresh(owner=YOU, cwd="/c", cost=2.5, updated=120.0))

    assert await store.find(ME, ID) == fresh()
    assert await store.find(YOU, ID) is None


async def test_lines_come_back_in_the_order_in_which_they_were_added(store: SessionStore) -> None:
    added = [line(n, f"u{9 - n}", part) for n in range(9) for part in ("z", "", "subagents/a")]
    for session in (fresh(), fresh(OTHER)):
        await store.begin(session)

    for place in range(0, len(added), 4):
        await store.append(ID, added[place : place + 4], 110.0 + place)
        await store.append(OTHER, [line(place)], 110.0)

    assert await store.lines(ID) == tuple(added)
    assert await store.find(ME, ID) == fresh(updated=110.0 + place)


async def test_a_line_with_an_identity_is_kept_once_in_each_part(store: SessionStore) -> None:
    first, elsewhere = line("first", "u1"), line("first", "u1", "subagents/a")
    await store.begin(fresh())
    await store.begin(fresh(OTHER))

    await store.append(ID, [first, line("again", "u1"), elsewhere], 110.0)
    await store.append(ID, [line("later", "u1"), line("new", "u2")], 120.0)
    await store.append(OTHER, [first], 120.0)

    assert await store.lines(ID) == (first, elsewhere, line("new", "u2"))
    assert await store.lines(OTHER) == (first,)


async def test_lines_without_an_identity_are_always_kept(store: SessionStore) -> None:
    await store.begin(fresh())

    await store.append(ID, [line("same"), line("same")], 110.0)
    await store.append(ID, [line("same")], 120.0)

    assert await store.lines(ID) == (line("same"),) * 3


async def test_appending_nothing_is_a_sign_of_life(store: SessionStore) -> None:
    await store.begin(fresh())

    await store.append(ID, [], 110.0)

    assert await store.find(ME, ID) == fresh(updated=110.0)


async def test_nothing_is_kept_of_a_session_that_nobody_has_begun(store: SessionStore) -> None:
    await store.append(ID, [line(1, "u1")], 110.0)
    await store.spent(ID, 1.0, 110.0)

    assert await store.lines(ID) == ()
    assert await store.find(ME, ID) is None
    await store.begin(fresh())
    assert await store.lines(ID) == ()


async def test_what_a_session_has_cost_is_set_not_added(store: SessionStore) -> None:
    await store.begin(fresh(cost=1.0))
    await store.begin(fresh(OTHER))

    await store.spent(ID, 1.75, 110.0)

    assert await store.find(ME, ID) == fresh(cost=1.75, updated=110.0)
    assert await store.find(ME, OTHER) == fresh(OTHER)


async def test_idle_sessions_are_swept_with_their_lines(store: SessionStore) -> None:
    await store.begin(fresh())
    await store.append(ID, [line(1, "u1"), line(2)], 110.0)
    await store.begin(fresh(OTHER))
    await store.append(OTHER, [line(1, "u1")], 150.0)

    assert await store.sweep(150.0) == 1
    assert await store.sweep(150.0) == 0

    assert await store.find(ME, ID) is None
    assert await store.lines(ID) == ()
    assert await store.lines(OTHER) == (line(1, "u1"),)
    await store.begin(fresh())  # nothing of the old one comes back
    assert await store.lines(ID) == ()


async def test_two_thousand_lines_fit_into_one_append(store: SessionStore) -> None:
    lines = [line("x" * 500, f"u{number}") for number in range(2000)]
    await store.begin(fresh())

    await store.append(ID, lines, 110.0)
    await store.append(ID, lines, 120.0)

    assert await store.lines(ID) == tuple(lines)


async def test_every_character_survives_as_json_escapes_it(store: SessionStore) -> None:
    # With NUL, and with every half of a surrogate pair, alone and beside others.
    halves = [chr(code) for code in range(0xD800, 0xE000)]
    everything = line(["".join(map(chr, range(0x10000))), *halves, "☃😀"], "u1", "sub/a")
    await store.begin(fresh())

    await store.append(ID, [everything], 110.0)

    assert await store.lines(ID) == (everything,)


async def test_what_no_database_takes_does_not_stop_the_rest(store: SessionStore) -> None:
    await store.begin(fresh(cwd="/a/\udcff"))

    await store.append(ID, [Line("a\0", '"\0 \ud800"', "u\0"), line(1)], 110.0)

    assert await store.lines(ID) == (Line("a ", '"  ?"', "u "), line(1))
    assert await store.find(ME, ID) == fresh(cwd="/a/?", updated=110.0)


async def test_two_servers_that_append_at_once_lose_nothing(pair: Pair) -> None:
    def batch(writer: int, number: int) -> list[Line]:
        return [line([writer, number, n], f"{writer}-{number}-{n}") for n in range(5)]

    async def grow(writer: int) -> None:
        for number in range(20):
            await pair[writer].append(ID, batch(writer, number), 110.0)

    await pair[0].begin(fresh())
    await asyncio.gather(grow(0), grow(1))

    kept = await pair[1].lines(ID)
    assert len(kept) == 200
    batches = [list(kept[place : place + 5]) for place in range(0, 200, 5)]
    for writer in (0, 1):
        mine = [each for each in batches if each[0].uuid and each[0].uuid.startswith(f"{writer}-")]
        assert mine == [batch(writer, number) for number in range(20)]


async def test_two_servers_that_append_the_same_keep_it_once(pair: Pair) -> None:
    lines = [line(number, f"u{number}") for number in range(100)]
    await pair[0].begin(fresh())

    await asyncio.gather(*(store.append(ID, lines, 110.0) for store in pair * 3))

    assert await pair[0].lines(ID) == tuple(lines)


async def test_of_two_owners_who_begin_the_same_session_at_once_one_has_it(pair: Pair) -> None:
    await asyncio.gather(pair[0].begin(fresh()), pair[1].begin(fresh(owner=YOU)))

    found = [await pair[0].find(owner, ID) for owner in (ME, YOU)]
    assert sum(session is not None for session in found) == 1


async def test_one_at_a_time_has_a_session_until_it_lets_go_or_is_not_heard_of(pair: Pair) -> None:
    here, there = pair
    await here.begin(fresh())

    assert await here.hold(ID, "a", until=110, now=100)
    assert not await there.hold(ID, "b", until=115, now=105)
    assert await here.hold(ID, "a", until=120, now=110)  # again
    await there.release(ID, "b")  # which has it not
    assert not await there.hold(ID, "b", until=125, now=115)
    await here.release(ID, "a")
    assert await there.hold(ID, "b", until=130, now=120)
    assert await here.hold(ID, "a", until=140, now=131)  # nobody has heard of b
    assert not await here.hold(OTHER, "a", until=140, now=131)
