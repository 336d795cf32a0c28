"""The way to a Redis server, and what its failures mean to us."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from junto.domain.errors import ConfigurationError, InputOutputError, SecurityError

if TYPE_CHECKING:
    from redis.asyncio import Redis

_SECONDS = 5.0
_MOST_CONNECTIONS = 50


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncIterator["Redis"]:
    """Open a pool of connections to the server at `url`, and close it at the end of the block.

    Raises:
        ConfigurationError: the driver is not installed, or `url` is none.
    """
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
    except ImportError:
        raise ConfigurationError(
            "redis.url is set, but the driver is not installed: pip install 'junto[redis]'."
        ) from None
    try:
        # One that waits: hundreds of callers at once must not need hundreds of connections.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_MOST_CONNECTIONS,
            timeout=_SECONDS,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
        )
    except ValueError:
        raise ConfigurationError("redis.url takes redis://, rediss:// or unix://.") from None
    async with Redis.from_pool(pool) as redis:
        yield redis


async def version(url: str) -> str:
    """Return which Redis answers at `url`.

    Raises:
        ConfigurationError: the driver is not installed, or `url` is none.
        SecurityError: it does not let us in.
        InputOutputError: nobody answers there.
    """
    async with connected(url) as redis:
        from redis.exceptions import AuthenticationError, RedisError

        try:
            found = await redis.info("server")
        except (RedisError, OSError) as error:
            # The driver has a class for this, but not for all servers.
            if isinstance(error, AuthenticationError) or "password" in str(error):
                raise SecurityError("Redis refuses the user or the password.") from None
            raise InputOutputError(f"Redis does not answer ({type(error).__name__}).") from None
    return str(found["redis_version"])


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn Redis's failures into ours; its own words may hold the address with its password."""
    from redis.exceptions import RedisError

    try:
        yield
    except (RedisError, OSError) as error:
        raise InputOutputError(
            f"Redis cannot be used ({type(error).__name__}), and limits are shared there. "
            "See that it runs, or unset redis.url.",
            retryable=True,
        ) from None
