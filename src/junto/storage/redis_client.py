"""Connections to a Redis server, and the translation of its errors."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from junto.domain.errors import ConfigurationError, InputOutputError, SecurityError

if TYPE_CHECKING:
    from redis.asyncio import Redis

_TIMEOUT_SECONDS = 5.0
_MAX_CONNECTIONS = 50


@contextlib.asynccontextmanager
async def open_redis(url: str) -> AsyncIterator["Redis"]:
    """Open a connection pool for the server at `url`, and close it when the context exits.

    Raises:
        ConfigurationError: the driver is not installed, or `url` is invalid.
    """
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
    except ImportError:
        raise ConfigurationError(
            "redis.url is set, but the driver is not installed: pip install 'junto[redis]'."
        ) from None
    try:
        # A blocking pool: hundreds of concurrent callers must not open hundreds of connections.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=_TIMEOUT_SECONDS,
            socket_timeout=_TIMEOUT_SECONDS,
            socket_connect_timeout=_TIMEOUT_SECONDS,
        )
    except ValueError:
        raise ConfigurationError("redis.url takes redis://, rediss:// or unix://.") from None
    async with Redis.from_pool(pool) as redis:
        yield redis


async def fetch_version(url: str) -> str:
    """Return the version of the Redis server at `url`.

    Raises:
        ConfigurationError: the driver is not installed, or `url` is invalid.
        SecurityError: the server rejects the credentials.
        InputOutputError: the server does not answer.
    """
    async with open_redis(url) as redis:
        from redis.exceptions import AuthenticationError, RedisError

        try:
            info = await redis.info("server")
        except (RedisError, OSError) as error:
            # Not every server reports this in a way that the driver maps to AuthenticationError.
            if isinstance(error, AuthenticationError) or "password" in str(error):
                raise SecurityError("Redis refuses the user or the password.") from None
            raise InputOutputError(f"Redis does not answer ({type(error).__name__}).") from None
    return str(info["redis_version"])


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Translate Redis errors to ours, without their text: it may contain the URL and password."""
    from redis.exceptions import RedisError

    try:
        yield
    except (RedisError, OSError) as error:
        raise InputOutputError(
            f"Redis cannot be used ({type(error).__name__}), and limits are shared there. "
            "See that it runs, or unset redis.url.",
            retryable=True,
        ) from None
