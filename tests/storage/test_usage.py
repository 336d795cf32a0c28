"""What every store of usage must do, in a file, in memory and in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path

import pytest

from junto.domain.usage import Amount, Dimension, Heading, UsageStore
from junto.storage.lazily import Lazily
from junto.storage.postgres.database import Database as Postgres
from junto.storage.postgres.usage import PostgresUsage
from junto.storage.sqlite.database import Database as Sqlite
from junto.storage.sqlite.usage import SqliteUsage

CALL = Amount(calls=1)
ASKED = Amount(
    questions=2,
    unanswered=1,
    input_tokens=30,
    output_tokens=12,
    cost=Decimal("0.000000123"),
    unpriced=1,
)


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[UsageStore]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            yield server(request.getfixturevalue("postgres_url"), stack)
        else:
            yield file(tmp_path / "junto.db" if request.param == "file" else None, stack)


def server(url: str, stack: AsyncExitStack) -> UsageStore:
    return PostgresUsage(Lazily(lambda: Postgres.opened(url), stack))


def file(path: Path | None, stack: AsyncExitStack) -> UsageStore:
    return SqliteUsage(Lazily(lambda: Sqlite.opened(path), stack))


async def test_what_is_added_is_summed_up_under_its_heading(store: UsageStore) -> None:
    chat, model = Heading(900, "me", "chat"), Heading(900, "me", "chat", "sonnet", "anthropic")
    await store.add({chat: CALL, model: ASKED})
    await store.add({chat: CALL + Amount(failures=1), model: ASKED})
    await store.add({Heading(1800, "me", "search"): CALL})

    by_tool = await store.sums((Dimension.TOOL,), 0, 9999)
    by_both = await store.sums((Dimension.MODEL, Dimension.BEGUN), 0, 9999)

    twice = ASKED + ASKED
    assert twice.cost == Decimal("0.000000246")
    assert by_tool == {("chat",): twice + Amount(calls=2, failures=1), ("search",): CALL}
    assert by_both == {
        ("sonnet", 900): twice,
        ("", 900): Amount(calls=2, failures=1),
        ("", 1800): CALL,
    }


async def test_only_what_lies_between_and_is_the_callers_is_summed_up(store: UsageStore) -> None:
    moments = [(900, "me"), (1800, "me"), (1800, "you"), (2700, "me")]
    await store.add({Heading(begun, caller, "chat"): CALL for begun, caller in moments})

    between = await store.sums((Dimension.CALLER,), 1800, 2700)
    mine = await store.sums((), 900, 2701, "me")

    assert between == {("me",): CALL, ("you",): CALL}
    assert mine == {(): Amount(calls=3)}
    assert await store.sums((), 9000, 9999) == {}
    assert await store.sums((Dimension.TOOL,), 0, 9999, "nobody") == {}


async def test_the_old_is_forgotten(store: UsageStore) -> None:
    await store.add({Heading(begun, "me", "chat"): CALL for begun in (900, 1800, 2700)})

    assert await store.sweep(1800) == 1
    assert await store.sweep(1800) == 0
    assert await store.sums((), 0, 9999) == {(): Amount(calls=2)}


async def test_names_may_be_anything(store: UsageStore) -> None:
    odd = "na\0me \ud800 '; DROP TABLE usage; --"
    await store.add({Heading(900, odd, odd, odd, odd): CALL})

    [(name,)] = await store.sums((Dimension.TOOL,), 0, 9999)

    assert str(name).endswith("'; DROP TABLE usage; --")


@pytest.mark.parametrize("place", ["file", "postgres"])
async def test_many_who_add_at_once_lose_nothing(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    headings = [Heading(900, f"caller {number}", "chat") for number in range(20)]
    async with AsyncExitStack() as stack:
        if place == "postgres":
            url = request.getfixturevalue("postgres_url")
            stores = [server(url, stack) for _ in range(8)]
        else:
            stores = [file(tmp_path / "junto.db", stack) for _ in range(8)]

        async def add(store: UsageStore, number: int) -> None:
            # Each in an order of its own, so that they would wait for each other in a circle.
            order = headings[number:] + headings[:number]
            for _ in range(5):
                await store.add(dict.fromkeys(order, CALL))

        await asyncio.gather(*(add(store, 2 * place) for place, store in enumerate(stores)))

        sums = await stores[0].sums((Dimension.CALLER,), 0, 9999)
    assert set(sums.values()) == {Amount(calls=40)}
    assert len(sums) == 20
