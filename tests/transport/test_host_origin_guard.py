import ipaddress
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from junto.transport.host_origin_guard import HostOriginGuard, is_loopback
from junto.transport.http_connections import BodyMemory


async def get_status(headers: list[tuple[str, str]], **options: Any) -> int:
    """Return the status that the guard gives a request with these headers."""
    statuses: list[int] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "headers": [(k.lower().encode(), v.encode("latin-1", "replace")) for k, v in headers],
    }
    memory = BodyMemory(1000)
    guard = HostOriginGuard.wrap(
        app, **{"hosts": (), "origins": (), "timeout_seconds": 1, "body_memory": memory, **options}
    )
    await guard(scope, receive, send)
    return statuses[0]


LOOPBACK_HOSTS = [
    "localhost",
    "LOCALHOST:1",
    "127.0.0.1",
    "127.0.0.1:32701",
    "127.9.9.9",
    "[::1]",
    "[::1]:80",
]
OTHER_HOSTS = [
    "example.org", "example.org:32701", "127.0.0.1.example.org", "localhost.example.org", "0.0.0.0",  # noqa: S104
    "127.0.0.1@example.org", "example.org@127.0.0.1", "127.0.0.1:80@x", "127.0.0.1:x", "10.0.0.1",
    "", ":80", "127.0.0.1:", "127.0.0.1 ", " localhost", "localhost/", "http://localhost", "[::2]",
    "[::ffff:8.8.8.8]", "169.254.169.254", "localhost:123456", "127.1", "2130706433", "0x7f000001",
]  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK_HOSTS)
async def test_loopback_hosts_pass(host: str) -> None:
    assert await get_status([("Host", host)]) == 200


@pytest.mark.parametrize("host", OTHER_HOSTS)
async def test_other_hosts_are_refused(host: str) -> None:
    assert await get_status([("Host", host)]) == 421


async def test_exactly_one_host_header_is_required() -> None:
    assert await get_status([]) == 421
    assert await get_status([("Host", "localhost"), ("Host", "localhost")]) == 421


@pytest.mark.parametrize("origin", ["http://localhost", "http://127.0.0.1:5173", "https://[::1]:1"])
async def test_loopback_origins_pass(origin: str) -> None:
    assert await get_status([("Host", "localhost"), ("Origin", origin)]) == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://example.org", "null", "file://", "http://localhost.example.org", "", "localhost",
        "http://localhost@example.org", "http://example.org#localhost", "chrome-extension://abc",
        "http://localhost/ http://example.org", "http://localhost:x", "ftp://localhost",
    ],
)  # fmt: skip
async def test_other_origins_are_refused(origin: str) -> None:
    assert await get_status([("Host", "localhost"), ("Origin", origin)]) == 403


async def test_a_second_origin_header_is_refused() -> None:
    origins = [("Origin", "http://localhost"), ("Origin", "http://localhost")]

    assert await get_status([("Host", "localhost"), *origins]) == 403


async def test_configured_hosts_and_origins_pass() -> None:
    options = {"hosts": ["Junto.Example.org", "h:8"], "origins": ["https://App.example.org/"]}

    assert await get_status([("Host", "junto.example.org")], **options) == 200
    assert await get_status([("Host", "junto.example.org:443")], **options) == 200
    assert await get_status([("Host", "h:8")], **options) == 200
    assert await get_status([("Host", "h:9")], **options) == 421
    good = [("Host", "localhost"), ("Origin", "https://app.example.org")]
    assert await get_status(good, **options) == 200
    bad = [("Host", "localhost"), ("Origin", "https://other.example.org")]
    assert await get_status(bad, **options) == 403


async def test_traffic_other_than_http_is_not_checked() -> None:
    seen = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope["type"])

    guard = HostOriginGuard.wrap(
        app, hosts=(), origins=(), timeout_seconds=1, body_memory=BodyMemory(1000)
    )
    await guard({"type": "lifespan"}, None, None)  # type: ignore[arg-type]

    assert seen == ["lifespan"]


@given(st.ip_addresses())
def test_only_loopback_addresses_are_loopback(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    assert is_loopback(str(address)) == address.is_loopback


@given(st.text(string.printable, max_size=40))
async def test_no_host_header_that_is_not_loopback_passes(host: str) -> None:
    status = await get_status([("Host", host)])

    name = host.rpartition(":")[0] if host.count(":") == 1 else host
    assert (status == 200) == is_loopback(name) or status == 421
