"""Rates and budgets that several servers share, kept in Redis.

Looking and taking are one script each, which Redis runs whole, so nobody can come between.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

from redis.asyncio import Redis

from junto.domain.limits import Account, Period, Rate, Reserved, Taken
from junto.storage.redis_server import reported
from junto.work.tasks import begun, surely

# Entries are kept by the time at which they were made, in a sorted set, and their tokens beside it.
# The clock is Redis's own, so that servers need not agree on theirs.
_TAKE = """
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

_SETTLE = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
"""

_RESERVE = """
local spent = tonumber(redis.call('GET', KEYS[1]) or '0')
local amount, limit, seconds = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if spent + amount > limit then return tostring(math.max(0, limit - spent)) end
redis.call('INCRBY', KEYS[1], ARGV[1])
if seconds > 0 then redis.call('EXPIRE', KEYS[1], seconds) end
return 'ok'
"""

# Money is counted in whole billionths of a dollar, which Redis adds up without rounding.
_NANO = Decimal(1_000_000_000)
_DAY = 86_400
# A little longer than the period, for calls that began in it and end after it.
_KEPT = {Period.DAY: 2 * _DAY, Period.MONTH: 33 * _DAY, Period.EVER: 0}


@dataclass(frozen=True, slots=True)
class RedisLimiter:
    """Hands out places within a rate, to all servers together."""

    redis: Redis
    prefix: str = "junto:rate:"

    async def take(self, key: str, tokens: int, rate: Rate) -> Taken | float:
        """Return a place, or the seconds after which there may be one."""
        taken = Taken(key, uuid4().hex)
        window = max(1, round(rate.seconds * 1000))
        with reported():
            wait = await self.redis.eval(
                _TAKE, 2, *self._keys(key), window, rate.requests, rate.tokens, tokens, taken.id
            )
        return taken if wait == 0 else int(wait) / 1000

    async def settle(self, taken: Taken, tokens: int) -> None:
        """Say how many tokens the call took in truth."""
        with reported():
            await surely(self._settled(taken, tokens))

    async def _settled(self, taken: Taken, tokens: int) -> None:
        await self.redis.eval(_SETTLE, 1, self._keys(taken.key)[1], taken.id, tokens)

    def _keys(self, key: str) -> tuple[str, str]:
        # The braces keep both on one node of a cluster.
        return f"{self.prefix}{{{key}}}:times", f"{self.prefix}{{{key}}}:tokens"


def _today() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class RedisLedger:
    """Keeps what was spent, by all servers together."""

    redis: Redis
    prefix: str = "junto:spent:"
    now: Callable[[], datetime] = _today

    async def reserve(self, account: Account, amount: Decimal) -> Reserved | Decimal:
        """Set `amount` aside, or return how much is left instead."""
        asking = begun(self._reserved(account, amount))
        with reported():
            try:
                return await asyncio.shield(asking)
            except asyncio.CancelledError:
                asking.add_done_callback(self._give_back)
                raise

    async def settle(self, reserved: Reserved, amount: Decimal) -> None:
        """Say what the call cost in truth."""
        with reported():
            await surely(self._settled(reserved, amount))

    async def _reserved(self, account: Account, amount: Decimal) -> Reserved | Decimal:
        stretch = account.period.stretch(self.now())
        left = await self.redis.eval(
            _RESERVE,
            1,
            self._key(account, stretch),
            _nano(amount),
            _nano(account.limit),
            _KEPT[account.period],
        )
        word = left.decode() if isinstance(left, bytes) else str(left)
        return Reserved(account, stretch, amount) if word == "ok" else Decimal(word) / _NANO

    async def _settled(self, reserved: Reserved, amount: Decimal) -> None:
        key = self._key(reserved.account, reserved.stretch)
        await self.redis.incrby(key, _nano(amount) - _nano(reserved.amount))

    def _give_back(self, asking: "asyncio.Task[Reserved | Decimal]") -> None:
        """Give back what was set aside for somebody who did not wait for it."""
        if not asking.cancelled() and not asking.exception():
            outcome = asking.result()
            if isinstance(outcome, Reserved):
                begun(self._settled(outcome, Decimal(0)))

    def _key(self, account: Account, stretch: str) -> str:
        return f"{self.prefix}{account.key}:{stretch}"


def _nano(amount: Decimal) -> int:
    return int((amount * _NANO).to_integral_value())
