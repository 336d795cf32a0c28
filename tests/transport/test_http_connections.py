"""Clients that open many connections, or send requests without finishing them."""

import contextlib
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from junto.transport.http_connections import BodyMemory, raise_descriptor_limit
from tests.clients import (
    TIMEOUT_SECONDS,
    HttpClient,
    clean_environment,
    http_server,
    junto_command,
)
from tests.processes import wait_until

HALF_A_HEADER = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Ty"
HEADERS = (
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n"
)
MIB = 1024**2
MAX_CONNECTIONS = 64


@contextlib.contextmanager
def serve(home: Path, **variables: str) -> Iterator[HttpClient]:
    limits = {"JUNTO_HTTP_MAX_CONNECTIONS": str(MAX_CONNECTIONS), "JUNTO_EMBEDDED_ENABLED": "false"}
    environment = clean_environment(home, **limits | variables)
    with http_server(junto_command("serve", "--port", "0"), environment, home) as (client, _):
        yield client


def connect(client: HttpClient, data: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", client.port), timeout=TIMEOUT_SECONDS)
    connection.sendall(data)
    return connection


@pytest.mark.parametrize(
    "data",
    [b"", HALF_A_HEADER, HEADERS % 1000 + b"{"],
    ids=["nothing", "half a header", "half a body"],
)
def test_unfinished_requests_do_not_block_others(tmp_path: Path, data: bytes) -> None:
    with serve(tmp_path) as client, contextlib.ExitStack() as stack:
        for _ in range(5 * MAX_CONNECTIONS):
            with contextlib.suppress(ConnectionError):
                stack.enter_context(connect(client, data))

        statuses = [client.get("/health").status for _ in range(10)]

    assert statuses == [200] * 10


def test_a_flood_is_logged_once(tmp_path: Path) -> None:
    environment = clean_environment(tmp_path, JUNTO_HTTP_MAX_CONNECTIONS=str(MAX_CONNECTIONS))
    command = junto_command("serve", "--port", "0")
    with http_server(command, environment, tmp_path) as (client, process):
        with contextlib.ExitStack() as stack:
            for _ in range(3 * MAX_CONNECTIONS):
                stack.enter_context(connect(client, HALF_A_HEADER))
            assert client.get("/health").status == 200
        process.terminate()
        assert process.stderr is not None
        log = process.stderr.read()

    assert log.count(b"too many connections") == 1


def test_bodies_that_are_not_finished_take_bounded_memory(tmp_path: Path) -> None:
    limit = str(4 * MIB)
    with serve(
        tmp_path, JUNTO_HTTP_MAX_BUFFERED_BYTES=limit, JUNTO_HTTP_MAX_BODY_BYTES=limit
    ) as client:
        half = HEADERS % (3 * MIB) + b" " * (2 * MIB)
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(connect(client, half)) for _ in range(6)]
            refused = [connection for connection in connections if _is_refused(connection)]
            small = client.get("/health").status
            body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
            call = client.post(body).status
        large = b" " * (3 * MIB) + body
        assert wait_until(lambda: client.post(large).status == 200)

    assert len(refused) >= 4
    assert (small, call) == (200, 200)


def _is_refused(connection: socket.socket) -> bool:
    connection.settimeout(2)
    with contextlib.suppress(OSError):
        return b"503" in connection.recv(1000)
    return False


def test_memory_for_bodies_is_counted_and_released() -> None:
    memory = BodyMemory(1000)

    first = memory.reserve(0, 256 * 1024)
    second = memory.reserve(256 * 1024, 900)

    assert (first, second) == (0, 900)
    assert memory.reserve(256 * 1024, 200) is None
    assert memory.reserve(0, 100_000) == 0
    memory.release(900)
    assert memory.reserve(256 * 1024, 200) == 200


def test_the_limit_of_descriptors_is_raised() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
    try:
        assert raise_descriptor_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[1], 65_536)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
