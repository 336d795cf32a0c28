"""What every limiter and every ledger must do, wherever it keeps count."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from redis.asyncio import Redis

from junto.domain.limits import (
    Account,
    Accounts,
    Ledger,
    Period,
    Rate,
    RateLimiter,
    Reserved,
    Taken,
)
from junto.providers.pipeline.limits import LocalLimiter
from junto.storage.lazily import Lazily
from junto.storage.ledger import KeptLedger
from junto.storage.postgres.accounts import PostgresAccounts
from junto.storage.postgres.database import Database as Postgres
from junto.storage.redis_accounts import RedisAccounts
from junto.storage.redis_limits import RedisLimiter
from junto.storage.sqlite.accounts import SqliteAccounts
from junto.storage.sqlite.database import Database as Sqlite


@pytest.fixture(params=["local", "redis"])
def limiter(request: pytest.FixtureRequest) -> RateLimiter:
    if request.param == "local":
        return LocalLimiter()
    return RedisLimiter(request.getfixturevalue("redis"))


@pytest.fixture(params=["file", "memory", "postgres", "redis"])
def accounts(request: pytest.FixtureRequest, stack: AsyncExitStack, tmp_path: Path) -> Accounts:
    match request.param:
        case "redis":
            return in_redis(request.getfixturevalue("redis"))
        case "postgres":
            url = request.getfixturevalue("postgres_url")
            return PostgresAccounts(Lazily(lambda: Postgres.opened(url), stack))
        case place:
            path = tmp_path / "junto.db" if place == "file" else None
            return SqliteAccounts(Lazily(lambda: Sqlite.opened(path), stack))


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


def in_redis(redis: Redis) -> Accounts:
    async def opened() -> Redis:
        return redis

    return RedisAccounts(opened)


@pytest.fixture
def ledger(accounts: Accounts) -> Ledger:
    return KeptLedger(accounts)


async def test_as_many_are_let_in_as_the_rate_allows_and_no_more(limiter: RateLimiter) -> None:
    outcomes = await asyncio.gather(
        *(limiter.take("m", 1, Rate(requests=7, tokens=1000)) for _ in range(200))
    )

    assert sum(isinstance(outcome, Taken) for outcome in outcomes) == 7
    assert all(0 < wait <= 60 for wait in outcomes if not isinstance(wait, Taken))


async def test_tokens_count_as_well_as_requests(limiter: RateLimiter) -> None:
    rate = Rate(requests=1000, tokens=100)

    outcomes = await asyncio.gather(*(limiter.take("m", 30, rate) for _ in range(50)))

    assert sum(isinstance(outcome, Taken) for outcome in outcomes) == 3
    assert isinstance(await limiter.take("m", 10, rate), Taken)
    assert not isinstance(await limiter.take("m", 1, rate), Taken)


async def test_after_the_wait_that_was_promised_there_is_room(limiter: RateLimiter) -> None:
    rate = Rate(requests=1, seconds=0.2)
    assert isinstance(await limiter.take("m", 1, rate), Taken)
    wait = await limiter.take("m", 1, rate)
    assert not isinstance(wait, Taken)
    assert 0 < wait <= 0.2

    await asyncio.sleep(wait + 0.01)

    assert isinstance(await limiter.take("m", 1, rate), Taken)


async def test_the_wait_is_for_as_many_as_must_leave(limiter: RateLimiter) -> None:
    rate = Rate(requests=10, tokens=100)
    for tokens in (10, 40, 50):
        assert isinstance(await limiter.take("m", tokens, rate), Taken)
        await asyncio.sleep(0.1)

    much, little = await limiter.take("m", 100, rate), await limiter.take("m", 10, rate)

    assert not isinstance(little, Taken)
    assert not isinstance(much, Taken)
    # For the little one only the first must leave, for the other the last as well.
    assert little + 0.15 < much <= 60


async def test_keys_do_not_know_each_other(limiter: RateLimiter) -> None:
    rate = Rate(requests=1)

    assert isinstance(await limiter.take("a", 1, rate), Taken)
    assert isinstance(await limiter.take("b", 1, rate), Taken)
    assert not isinstance(await limiter.take("a", 1, rate), Taken)


async def test_what_was_not_used_is_given_back(limiter: RateLimiter) -> None:
    rate = Rate(tokens=100)
    taken = await limiter.take("m", 90, rate)
    assert isinstance(taken, Taken)
    assert not isinstance(await limiter.take("m", 20, rate), Taken)

    await limiter.settle(taken, 10)

    assert isinstance(await limiter.take("m", 20, rate), Taken)


async def test_settling_what_is_long_gone_changes_nothing(limiter: RateLimiter) -> None:
    await limiter.settle(Taken("m", "gone"), 1_000_000)

    assert isinstance(await limiter.take("m", 1, Rate(tokens=10)), Taken)


async def test_two_servers_share_one_rate(redis: Redis) -> None:
    one, two = RedisLimiter(redis), RedisLimiter(redis)
    rate = Rate(requests=5)

    outcomes = await asyncio.gather(*(each.take("m", 1, rate) for each in (one, two) * 50))

    assert sum(isinstance(outcome, Taken) for outcome in outcomes) == 5


async def test_nothing_is_left_behind_in_redis(redis: Redis) -> None:
    limiter = RedisLimiter(redis)
    await limiter.take("m", 1, Rate(seconds=0.1))
    account = Account("me", Decimal(5), Period.DAY)
    await KeptLedger(in_redis(redis)).reserve(account, Decimal(1))

    for key in await redis.keys():
        assert await redis.pttl(key) > 0


async def test_money_can_be_set_aside_only_once(ledger: Ledger) -> None:
    account = Account("me", Decimal(10))

    outcomes = await asyncio.gather(*(ledger.reserve(account, Decimal("0.7")) for _ in range(100)))

    assert sum(isinstance(outcome, Reserved) for outcome in outcomes) == 14
    assert {o for o in outcomes if not isinstance(o, Reserved)} == {Decimal("0.2")}


async def test_a_call_costs_what_it_cost(ledger: Ledger) -> None:
    account = Account("me", Decimal(1))
    reserved = await ledger.reserve(account, Decimal(1))
    assert isinstance(reserved, Reserved)
    assert await ledger.reserve(account, Decimal("0.000001")) == 0

    await ledger.settle(reserved, Decimal("0.123456789"))

    assert await ledger.reserve(account, Decimal(1)) == Decimal("0.876543211")


async def test_a_call_may_cost_more_than_was_set_aside(ledger: Ledger) -> None:
    account = Account("me", Decimal(1))
    reserved = await ledger.reserve(account, Decimal("0.5"))
    assert isinstance(reserved, Reserved)

    await ledger.settle(reserved, Decimal(2))

    assert await ledger.reserve(account, Decimal("0.1")) == 0


async def test_periods_and_accounts_do_not_know_each_other(accounts: Accounts) -> None:
    today = [datetime(2026, 11, 30, tzinfo=UTC)]
    ledger = KeptLedger(accounts, now=lambda: today[0])
    budgets = [Account(f"{p}", Decimal(1), p) for p in Period]
    for account in budgets:
        assert isinstance(await ledger.reserve(account, Decimal(1)), Reserved)
    today[0] = datetime(2026, 12, 1, tzinfo=UTC)

    spent = [await ledger.spent(account) for account in budgets]
    again = [isinstance(await ledger.reserve(a, Decimal(1)), Reserved) for a in budgets]

    assert spent == [0, 0, 1]
    assert again == [True, True, False]


async def test_whoever_does_not_wait_for_their_money_has_none_set_aside(ledger: Ledger) -> None:
    account = Account("me", Decimal(1))
    for _ in range(20):
        asking = asyncio.ensure_future(ledger.reserve(account, Decimal("0.01")))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])

    async with asyncio.timeout(30):
        while not isinstance(await ledger.reserve(account, Decimal(1)), Reserved):
            pass  # what was set aside is being given back
