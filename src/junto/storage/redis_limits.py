"""Rates that several servers share, kept in Redis.

Looking and taking are one script, which Redis runs whole, so nobody can come between.
"""

from dataclasses import dataclass
from uuid import uuid4

from redis.asyncio import Redis

from junto.domain.limits import Rate, Taken
from junto.storage.redis_server import reported
from junto.work.tasks import surely

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
