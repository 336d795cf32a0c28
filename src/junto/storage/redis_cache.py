"""The answer cache that several servers share, in Redis."""

from dataclasses import dataclass

from redis.asyncio import Redis
from redis.exceptions import RedisError

from junto.domain.completions import Answer
from junto.storage.message_json import decode_answer, encode_answer
from junto.telemetry.logs import Log

_log = Log.get("storage")


@dataclass(frozen=True, slots=True)
class RedisAnswerCache:
    """A cache of answers, shared by all servers; Redis expires old entries.

    The cache is optional: if Redis cannot be reached, the question goes to the model.
    """

    redis: Redis
    ttl_seconds: float = 300
    prefix: str = "junto:answer:"

    async def get(self, key: str) -> Answer | None:
        """Return the answer under `key`, unless it has expired."""
        try:
            encoded = await self.redis.get(self.prefix + key)
            return decode_answer(encoded) if encoded else None
        except (RedisError, OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("cached answer not read", reason=type(error).__name__)
            return None

    async def put(self, key: str, answer: Answer) -> None:
        """Save an answer under `key`."""
        try:
            milliseconds = max(1, round(self.ttl_seconds * 1000))
            await self.redis.set(self.prefix + key, encode_answer(answer), px=milliseconds)
        except (RedisError, OSError) as error:
            _log.warning("answer not cached", reason=type(error).__name__)
