"""Contract tests for every usage store: SQLite file, in-memory SQLite, PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path

import pytest

from junto.domain.usage import UsageDimension, UsageKey, UsageStore, UsageTotals
from junto.runtime.lazy import Lazy
from junto.storage.postgres.database import PostgresDatabase as Postgres
from junto.storage.postgres.usage import PostgresUsage
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from junto.storage.sqlite.usage import SqliteUsage

CALL = UsageTotals(calls=1)
MODEL_USAGE = UsageTotals(
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
            yield postgres_store(request.getfixturevalue("postgres_url"), stack)
        else:
            yield sqlite_store(tmp_path / "junto.db" if request.param == "file" else None, stack)


def postgres_store(url: str, stack: AsyncExitStack) -> UsageStore:
    return PostgresUsage(Lazy(lambda: Postgres.open(url), stack))


def sqlite_store(path: Path | None, stack: AsyncExitStack) -> UsageStore:
    return SqliteUsage(Lazy(lambda: Sqlite.open(path), stack))


async def test_usage_is_summed_per_dimension(store: UsageStore) -> None:
    chat, model = UsageKey(900, "me", "chat"), UsageKey(900, "me", "chat", "sonnet", "anthropic")
    await store.add({chat: CALL, model: MODEL_USAGE})
    await store.add({chat: CALL + UsageTotals(failures=1), model: MODEL_USAGE})
    await store.add({UsageKey(1800, "me", "search"): CALL})

    by_tool = await store.load_totals((UsageDimension.TOOL,), 0, 9999)
    by_both = await store.load_totals((UsageDimension.MODEL, UsageDimension.BUCKET_START), 0, 9999)

    twice = MODEL_USAGE + MODEL_USAGE
    assert twice.cost == Decimal("0.000000246")
    assert by_tool == {("chat",): twice + UsageTotals(calls=2, failures=1), ("search",): CALL}
    assert by_both == {
        ("sonnet", 900): twice,
        ("", 900): UsageTotals(calls=2, failures=1),
        ("", 1800): CALL,
    }


async def test_totals_cover_only_the_time_range_and_the_caller(store: UsageStore) -> None:
    buckets = [(900, "me"), (1800, "me"), (1800, "you"), (2700, "me")]
    await store.add(
        {UsageKey(bucket_start, caller, "chat"): CALL for bucket_start, caller in buckets}
    )

    between = await store.load_totals((UsageDimension.CALLER,), 1800, 2700)
    mine = await store.load_totals((), 900, 2701, "me")

    assert between == {("me",): CALL, ("you",): CALL}
    assert mine == {(): UsageTotals(calls=3)}
    assert await store.load_totals((), 9000, 9999) == {}
    assert await store.load_totals((UsageDimension.TOOL,), 0, 9999, "nobody") == {}


async def test_expired_usage_is_deleted(store: UsageStore) -> None:
    await store.add(
        {UsageKey(bucket_start, "me", "chat"): CALL for bucket_start in (900, 1800, 2700)}
    )

    assert await store.delete_expired(1800) == 1
    assert await store.delete_expired(1800) == 0
    assert await store.load_totals((), 0, 9999) == {(): UsageTotals(calls=2)}


async def test_names_may_contain_any_character(store: UsageStore) -> None:
    hostile_name = "na\0me \ud800 '; DROP TABLE usage; --"
    await store.add({UsageKey(900, hostile_name, hostile_name, hostile_name, hostile_name): CALL})

    [(name,)] = await store.load_totals((UsageDimension.TOOL,), 0, 9999)

    assert str(name).endswith("'; DROP TABLE usage; --")


@pytest.mark.parametrize("backend", ["file", "postgres"])
async def test_concurrent_adds_lose_nothing(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    keys = [UsageKey(900, f"caller {number}", "chat") for number in range(20)]
    async with AsyncExitStack() as stack:
        if backend == "postgres":
            url = request.getfixturevalue("postgres_url")
            stores = [postgres_store(url, stack) for _ in range(8)]
        else:
            stores = [sqlite_store(tmp_path / "junto.db", stack) for _ in range(8)]

        async def add(store: UsageStore, number: int) -> None:
            # Every writer has its own order: row locks taken in that order would deadlock.
            order = keys[number:] + keys[:number]
            for _ in range(5):
                await store.add(dict.fromkeys(order, CALL))

        await asyncio.gather(*(add(store, 2 * index) for index, store in enumerate(stores)))

        totals = await stores[0].load_totals((UsageDimension.CALLER,), 0, 9999)
    assert set(totals.values()) == {UsageTotals(calls=40)}
    assert len(totals) == 20
