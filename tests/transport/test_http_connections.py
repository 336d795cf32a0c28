"""Clients that open many connections, or send requests without finishing them."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from junto.transport.http_connections import (
    BodyMemory,
    Connections,
    build_protocol_class,
    raise_descriptor_limit,
)
from tests.clients import (
    TIMEOUT_SECONDS,
    HttpClient,
    clean_environment,
    http_server,
    junto_command,
)
from tests.event_loop import poll_until
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


class EndlessApp:
    """An ASGI application whose answers never end; it notes which connections were closed."""

    def __init__(self) -> None:
        self.started = self.closed = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.started += 1
        await receive()
        if scope["path"] == "/short":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        disconnected = asyncio.create_task(receive())
        while not disconnected.done():
            chunk = {"type": "http.response.body", "body": b"x" * MIB, "more_body": True}
            await send(chunk)
        self.closed += 1


@contextlib.asynccontextmanager
async def serve_endless_answers(
    max_connections: int, blocked_seconds: float
) -> AsyncIterator[tuple[EndlessApp, int]]:
    app = EndlessApp()
    protocol = build_protocol_class(Connections(max_connections), 0.05, blocked_seconds)
    config = uvicorn.Config(app, http=protocol, lifespan="off", log_config=None, access_log=False)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup(sockets=[listener])
        server.force_exit = True
        try:
            yield app, listener.getsockname()[1]
        finally:
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            await server.shutdown(sockets=[listener])


async def request_without_reading(port: int, stack: contextlib.ExitStack) -> None:
    client = stack.enter_context(socket.socket())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)  # noqa: FBT003 - the name of the standard library
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
    client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


async def test_an_answer_that_its_client_never_reads_is_given_up() -> None:
    with contextlib.ExitStack() as stack:
        async with serve_endless_answers(10, blocked_seconds=0.1) as (app, port):
            await request_without_reading(port, stack)

            await poll_until(lambda: app.closed == 1)


async def test_clients_that_never_read_their_answers_make_room_for_others() -> None:
    with contextlib.ExitStack() as stack:
        async with serve_endless_answers(3, blocked_seconds=1000) as (app, port):
            for number in range(3):
                await request_without_reading(port, stack)
                await poll_until(lambda expected=number + 1: app.started == expected)  # type: ignore[misc]

            async def ask() -> bytes:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET /short HTTP/1.1\r\nHost: localhost\r\n\r\n")
                line = await reader.readline()
                writer.close()
                return line

            for _ in range(200):  # until all three are blocked
                answer = await ask()
                if b"204" in answer:
                    break

    assert answer == b"HTTP/1.1 204 No Content\r\n"
