"""Contract tests for every rate limiter and every budget ledger."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from redis.asyncio import Redis

from junto.domain.limits import (
    BudgetAccount,
    BudgetAccountStore,
    BudgetReservation,
    Ledger,
    Period,
    RateLimit,
    RateLimiter,
    RateReservation,
)
from junto.providers.middleware.limits import InMemoryRateLimiter
from junto.runtime.lazy import Lazy
from junto.storage.budget_ledger import BudgetLedger
from junto.storage.postgres.database import PostgresDatabase as Postgres
from junto.storage.postgres.usage import PostgresBudgetAccounts
from junto.storage.redis_limits import RedisBudgetAccounts, RedisRateLimiter
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from junto.storage.sqlite.usage import SqliteBudgetAccounts
from tests.event_loop import yield_to_tasks
from tests.providers.scripted_provider import FakeClock

PassTime = Callable[[float], Awaitable[None]]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(time=0.0)


@pytest.fixture(params=["local", "redis"])
def limiter(request: pytest.FixtureRequest, clock: FakeClock) -> RateLimiter:
    if request.param == "local":
        return InMemoryRateLimiter(clock.now)
    return RedisRateLimiter(request.getfixturevalue("redis"))


@pytest.fixture
def pass_time(limiter: RateLimiter, clock: FakeClock) -> PassTime:
    """Return a function that lets time pass for the limiter; Redis has a clock of its own."""
    return clock.sleep if isinstance(limiter, InMemoryRateLimiter) else asyncio.sleep


@pytest.fixture(params=["file", "memory", "postgres", "redis"])
def accounts(
    request: pytest.FixtureRequest, stack: AsyncExitStack, tmp_path: Path
) -> BudgetAccountStore:
    match request.param:
        case "redis":
            return redis_accounts(request.getfixturevalue("redis"))
        case "postgres":
            url = request.getfixturevalue("postgres_url")
            return PostgresBudgetAccounts(Lazy(lambda: Postgres.open(url), stack))
        case backend:
            path = tmp_path / "junto.db" if backend == "file" else None
            return SqliteBudgetAccounts(Lazy(lambda: Sqlite.open(path), stack))


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


def redis_accounts(redis: Redis) -> BudgetAccountStore:
    async def get_redis() -> Redis:
        return redis

    return RedisBudgetAccounts(get_redis)


@pytest.fixture
def ledger(accounts: BudgetAccountStore) -> Ledger:
    return BudgetLedger(accounts)


async def test_exactly_as_many_requests_are_admitted_as_the_rate_allows(
    limiter: RateLimiter,
) -> None:
    outcomes = await asyncio.gather(
        *(limiter.acquire("m", 1, RateLimit(requests=7, tokens=1000)) for _ in range(200))
    )

    assert sum(isinstance(outcome, RateReservation) for outcome in outcomes) == 7
    assert all(0 < wait <= 60 for wait in outcomes if not isinstance(wait, RateReservation))


async def test_tokens_count_as_well_as_requests(limiter: RateLimiter) -> None:
    rate = RateLimit(requests=1000, tokens=100)

    outcomes = await asyncio.gather(*(limiter.acquire("m", 30, rate) for _ in range(50)))

    assert sum(isinstance(outcome, RateReservation) for outcome in outcomes) == 3
    assert isinstance(await limiter.acquire("m", 10, rate), RateReservation)
    assert not isinstance(await limiter.acquire("m", 1, rate), RateReservation)


async def test_a_request_is_admitted_after_the_returned_wait(
    limiter: RateLimiter, pass_time: PassTime
) -> None:
    rate = RateLimit(requests=1, seconds=0.2)
    assert isinstance(await limiter.acquire("m", 1, rate), RateReservation)
    wait = await limiter.acquire("m", 1, rate)
    assert not isinstance(wait, RateReservation)
    assert 0 < wait <= 0.2

    await pass_time(wait + 0.01)

    assert isinstance(await limiter.acquire("m", 1, rate), RateReservation)


async def test_the_wait_lasts_until_enough_reservations_expire(
    limiter: RateLimiter, pass_time: PassTime
) -> None:
    rate = RateLimit(requests=10, tokens=100)
    for tokens in (10, 40, 50):
        assert isinstance(await limiter.acquire("m", tokens, rate), RateReservation)
        await pass_time(0.1)

    long_wait, short_wait = (
        await limiter.acquire("m", 100, rate),
        await limiter.acquire("m", 10, rate),
    )

    assert not isinstance(short_wait, RateReservation)
    assert not isinstance(long_wait, RateReservation)
    # 10 tokens need only the first reservation to expire, 100 tokens need the last one too.
    assert short_wait + 0.15 < long_wait <= 60


async def test_keys_are_limited_independently(limiter: RateLimiter) -> None:
    rate = RateLimit(requests=1)

    assert isinstance(await limiter.acquire("a", 1, rate), RateReservation)
    assert isinstance(await limiter.acquire("b", 1, rate), RateReservation)
    assert not isinstance(await limiter.acquire("a", 1, rate), RateReservation)


async def test_unused_tokens_are_returned(limiter: RateLimiter) -> None:
    rate = RateLimit(tokens=100)
    reservation = await limiter.acquire("m", 90, rate)
    assert isinstance(reservation, RateReservation)
    assert not isinstance(await limiter.acquire("m", 20, rate), RateReservation)

    await limiter.settle(reservation, 10)

    assert isinstance(await limiter.acquire("m", 20, rate), RateReservation)


async def test_settling_an_expired_reservation_changes_nothing(limiter: RateLimiter) -> None:
    await limiter.settle(RateReservation("m", "gone"), 1_000_000)

    assert isinstance(await limiter.acquire("m", 1, RateLimit(tokens=10)), RateReservation)


async def test_two_servers_share_one_rate(redis: Redis) -> None:
    one, two = RedisRateLimiter(redis), RedisRateLimiter(redis)
    rate = RateLimit(requests=5)

    outcomes = await asyncio.gather(*(each.acquire("m", 1, rate) for each in (one, two) * 50))

    assert sum(isinstance(outcome, RateReservation) for outcome in outcomes) == 5


async def test_every_redis_key_expires(redis: Redis) -> None:
    limiter = RedisRateLimiter(redis)
    await limiter.acquire("m", 1, RateLimit(seconds=0.1))
    account = BudgetAccount("me", Decimal(5), Period.DAY)
    await BudgetLedger(redis_accounts(redis)).reserve(account, Decimal(1))

    for key in await redis.keys():
        assert await redis.pttl(key) > 0


async def test_concurrent_reservations_do_not_exceed_the_budget(ledger: Ledger) -> None:
    account = BudgetAccount("me", Decimal(10))

    outcomes = await asyncio.gather(*(ledger.reserve(account, Decimal("0.7")) for _ in range(100)))

    assert sum(isinstance(outcome, BudgetReservation) for outcome in outcomes) == 14
    assert {o for o in outcomes if not isinstance(o, BudgetReservation)} == {Decimal("0.2")}


async def test_settling_charges_the_actual_cost(ledger: Ledger) -> None:
    account = BudgetAccount("me", Decimal(1))
    reservation = await ledger.reserve(account, Decimal(1))
    assert isinstance(reservation, BudgetReservation)
    assert await ledger.reserve(account, Decimal("0.000001")) == 0

    await ledger.settle(reservation, Decimal("0.123456789"))

    assert await ledger.reserve(account, Decimal(1)) == Decimal("0.876543211")


async def test_a_call_may_cost_more_than_was_reserved(ledger: Ledger) -> None:
    account = BudgetAccount("me", Decimal(1))
    reservation = await ledger.reserve(account, Decimal("0.5"))
    assert isinstance(reservation, BudgetReservation)

    await ledger.settle(reservation, Decimal(2))

    assert await ledger.reserve(account, Decimal("0.1")) == 0


async def test_periods_and_accounts_are_counted_independently(accounts: BudgetAccountStore) -> None:
    today = [datetime(2026, 11, 30, tzinfo=UTC)]
    ledger = BudgetLedger(accounts, now=lambda: today[0])
    budgets = [BudgetAccount(f"{p}", Decimal(1), p) for p in Period]
    for account in budgets:
        assert isinstance(await ledger.reserve(account, Decimal(1)), BudgetReservation)
    today[0] = datetime(2026, 12, 1, tzinfo=UTC)

    spent = [await ledger.read_spent(account) for account in budgets]
    again = [isinstance(await ledger.reserve(a, Decimal(1)), BudgetReservation) for a in budgets]

    assert spent == [0, 0, 1]
    assert again == [True, True, False]


async def test_a_cancelled_reservation_is_returned(ledger: Ledger) -> None:
    account = BudgetAccount("me", Decimal(1))
    for _ in range(20):
        task = asyncio.ensure_future(ledger.reserve(account, Decimal("0.01")))
        await yield_to_tasks()
        task.cancel()
        await asyncio.wait([task])

    async with asyncio.timeout(30):
        while not isinstance(await ledger.reserve(account, Decimal(1)), BudgetReservation):
            pass  # cancelled reservations are still being returned
