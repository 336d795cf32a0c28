"""Answers that several servers share, kept in Redis."""

from dataclasses import dataclass

from redis.asyncio import Redis
from redis.exceptions import RedisError

from junto.domain.questions import Answer
from junto.storage.encoding import read_answer, written_answer
from junto.telemetry.logs import Log

_log = Log.of("storage")


@dataclass(frozen=True, slots=True)
class RedisCache:
    """Keeps answers for all servers together; Redis itself lets go of the old ones.

    A cache is a help and no more: when it cannot be reached, the question is simply asked.
    """

    redis: Redis
    seconds: float = 300
    prefix: str = "junto:answer:"

    async def get(self, key: str) -> Answer | None:
        """Return the answer under `key`, if it is still good."""
        try:
            kept = await self.redis.get(self.prefix + key)
            return read_answer(kept) if kept else None
        except (RedisError, OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("cached answer not read", reason=type(error).__name__)
            return None

    async def put(self, key: str, answer: Answer) -> None:
        """Keep an answer."""
        try:
            milliseconds = max(1, round(self.seconds * 1000))
            await self.redis.set(self.prefix + key, written_answer(answer), px=milliseconds)
        except (RedisError, OSError) as error:
            _log.warning("answer not cached", reason=type(error).__name__)
