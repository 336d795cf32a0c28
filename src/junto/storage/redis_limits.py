"""Rate limits and budget accounts that several servers share, in Redis.

Checking a limit and taking from it is one script, which Redis runs atomically.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4

from redis.asyncio import Redis
from typing_extensions import override

from junto.domain.limits import (
    BudgetAccount,
    BudgetAccountStore,
    Period,
    RateLimit,
    RateReservation,
)
from junto.runtime.tasks import run_shielded
from junto.storage.redis_client import translate_errors
from junto.storage.values import to_nanodollars

# Requests are in a sorted set by time, and their tokens in a hash. The time is that of the Redis
# server, because the clocks of Junto servers may differ.
_ACQUIRE_SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, most_requests, most_tokens = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens, id = tonumber(ARGV[4]), ARGV[5]
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - window)) do
  redis.call('HDEL', KEYS[2], old)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local entries = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local requests, used = #entries / 2, 0
for _, counted in ipairs(redis.call('HVALS', KEYS[2])) do used = used + counted end
for index = 1, #entries, 2 do
  if requests < most_requests and used + tokens <= most_tokens then break end
  requests = requests - 1
  used = used - redis.call('HGET', KEYS[2], entries[index])
  if requests < most_requests and used + tokens <= most_tokens then
    return entries[index + 1] + window - now
  end
end
redis.call('ZADD', KEYS[1], now, id)
redis.call('HSET', KEYS[2], id, tokens)
redis.call('PEXPIRE', KEYS[1], window)
redis.call('PEXPIRE', KEYS[2], window)
return 0
"""

_SETTLE_SCRIPT = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
"""


_RESERVE_SCRIPT = """
local spent = tonumber(redis.call('GET', KEYS[1]) or '0')
local amount, limit, seconds = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if spent + amount > limit then return math.max(0, spent) end
redis.call('INCRBY', KEYS[1], ARGV[1])
if seconds > 0 then redis.call('EXPIRE', KEYS[1], seconds) end
return -1
"""

_DAY_SECONDS = 86_400
# Somewhat longer than the period, for calls that start in it and are settled after it.
_RETENTION_SECONDS = {Period.DAY: 2 * _DAY_SECONDS, Period.MONTH: 33 * _DAY_SECONDS, Period.EVER: 0}


@dataclass(frozen=True, slots=True)
class RedisRateLimiter:
    """A rate limiter shared by all servers."""

    redis: Redis
    prefix: str = "junto:rate:"

    async def acquire(self, key: str, tokens: int, rate: RateLimit) -> RateReservation | float:
        """Return a reservation, or the seconds to wait before trying again."""
        reservation = RateReservation(key, uuid4().hex)
        window = max(1, round(rate.seconds * 1000))
        with translate_errors():
            wait = await self.redis.eval(
                _ACQUIRE_SCRIPT,
                2,
                *self._keys(key),
                window,
                rate.requests,
                rate.tokens,
                tokens,
                reservation.id,
            )
        return reservation if wait == 0 else int(wait) / 1000

    async def settle(self, reservation: RateReservation, tokens: int) -> None:
        """Replace the reserved tokens by those that the call actually used."""
        with translate_errors():
            await run_shielded(self._settle(reservation, tokens))

    async def _settle(self, reservation: RateReservation, tokens: int) -> None:
        await self.redis.eval(
            _SETTLE_SCRIPT, 1, self._keys(reservation.key)[1], reservation.id, tokens
        )

    def _keys(self, key: str) -> tuple[str, str]:
        # The braces are a hash tag: they keep both keys on one node of a Redis Cluster.
        return f"{self.prefix}{{{key}}}:times", f"{self.prefix}{{{key}}}:tokens"


@dataclass(frozen=True, slots=True)
class RedisBudgetAccounts(BudgetAccountStore):
    """Budget accounts shared by all servers."""

    redis: Callable[[], Awaitable[Redis]]
    prefix: str = "junto:spent:"

    @override
    async def reserve(self, account: BudgetAccount, window: str, amount: int) -> int | None:
        with translate_errors():
            spent = await (await self.redis()).eval(
                _RESERVE_SCRIPT,
                1,
                self._key(account, window),
                amount,
                to_nanodollars(account.limit),
                _RETENTION_SECONDS[account.period],
            )
        return None if int(spent) < 0 else int(spent)

    @override
    async def adjust(self, account: BudgetAccount, window: str, difference: int) -> None:
        with translate_errors():
            await (await self.redis()).incrby(self._key(account, window), difference)

    @override
    async def read(self, account: BudgetAccount, window: str) -> int:
        with translate_errors():
            return int(await (await self.redis()).get(self._key(account, window)) or 0)

    def _key(self, account: BudgetAccount, window: str) -> str:
        return f"{self.prefix}{account.key}:{window}"
