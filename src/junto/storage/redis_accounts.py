"""Sums of money in Redis, shared by several servers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from redis.asyncio import Redis
from typing_extensions import override

from junto.domain.limits import Account, Accounts, Period
from junto.storage.money import nano
from junto.storage.redis_server import reported

_RESERVE = """
local spent = tonumber(redis.call('GET', KEYS[1]) or '0')
local amount, limit, seconds = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if spent + amount > limit then return math.max(0, spent) end
redis.call('INCRBY', KEYS[1], ARGV[1])
if seconds > 0 then redis.call('EXPIRE', KEYS[1], seconds) end
return -1
"""

_DAY = 86_400
# A little longer than the period, for calls that began in it and end after it.
_KEPT = {Period.DAY: 2 * _DAY, Period.MONTH: 33 * _DAY, Period.EVER: 0}


@dataclass(frozen=True, slots=True)
class RedisAccounts(Accounts):
    """Keeps sums of money, for all servers together."""

    redis: Callable[[], Awaitable[Redis]]
    prefix: str = "junto:spent:"

    @override
    async def take(self, account: Account, stretch: str, amount: int) -> int | None:
        with reported():
            spent = await (await self.redis()).eval(
                _RESERVE,
                1,
                self._key(account, stretch),
                amount,
                nano(account.limit),
                _KEPT[account.period],
            )
        return None if int(spent) < 0 else int(spent)

    @override
    async def change(self, account: Account, stretch: str, difference: int) -> None:
        with reported():
            await (await self.redis()).incrby(self._key(account, stretch), difference)

    @override
    async def read(self, account: Account, stretch: str) -> int:
        with reported():
            return int(await (await self.redis()).get(self._key(account, stretch)) or 0)

    def _key(self, account: Account, stretch: str) -> str:
        return f"{self.prefix}{account.key}:{stretch}"
