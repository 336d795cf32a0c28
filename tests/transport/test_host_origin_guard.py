import ipaddress
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from junto.transport.gate import Gate, is_loopback


async def passed(headers: list[tuple[str, str]], **options: Any) -> int:
    """Return the status that a request with these headers gets at a gate."""
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
    gate = Gate.before(app, **{"hosts": (), "origins": (), "seconds": 1, **options})
    await gate(scope, receive, send)
    return statuses[0]


OUR_HOSTS = [
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


@pytest.mark.parametrize("host", OUR_HOSTS)
async def test_loopback_hosts_pass(host: str) -> None:
    assert await passed([("Host", host)]) == 200


@pytest.mark.parametrize("host", OTHER_HOSTS)
async def test_other_hosts_do_not(host: str) -> None:
    assert await passed([("Host", host)]) == 421


async def test_exactly_one_host_is_wanted() -> None:
    assert await passed([]) == 421
    assert await passed([("Host", "localhost"), ("Host", "localhost")]) == 421


@pytest.mark.parametrize("origin", ["http://localhost", "http://127.0.0.1:5173", "https://[::1]:1"])
async def test_loopback_origins_pass(origin: str) -> None:
    assert await passed([("Host", "localhost"), ("Origin", origin)]) == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://example.org", "null", "file://", "http://localhost.example.org", "", "localhost",
        "http://localhost@example.org", "http://example.org#localhost", "chrome-extension://abc",
        "http://localhost/ http://example.org", "http://localhost:x", "ftp://localhost",
    ],
)  # fmt: skip
async def test_other_origins_do_not(origin: str) -> None:
    assert await passed([("Host", "localhost"), ("Origin", origin)]) == 403


async def test_one_bad_origin_among_two_is_enough() -> None:
    origins = [("Origin", "http://localhost"), ("Origin", "http://localhost")]

    assert await passed([("Host", "localhost"), *origins]) == 403


async def test_a_proxy_may_add_names_and_origins_of_its_own() -> None:
    options = {"hosts": ["Junto.Example.org", "h:8"], "origins": ["https://App.example.org/"]}

    assert await passed([("Host", "junto.example.org")], **options) == 200
    assert await passed([("Host", "junto.example.org:443")], **options) == 200
    assert await passed([("Host", "h:8")], **options) == 200
    assert await passed([("Host", "h:9")], **options) == 421
    good = [("Host", "localhost"), ("Origin", "https://app.example.org")]
    assert await passed(good, **options) == 200
    bad = [("Host", "localhost"), ("Origin", "https://other.example.org")]
    assert await passed(bad, **options) == 403


async def test_other_kinds_of_traffic_are_not_the_gates_business() -> None:
    seen = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope["type"])

    gate = Gate.before(app, hosts=(), origins=(), seconds=1)
    await gate({"type": "lifespan"}, None, None)  # type: ignore[arg-type]

    assert seen == ["lifespan"]


@given(st.ip_addresses())
def test_only_addresses_of_this_machine_are_loopback(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    assert is_loopback(str(address)) == address.is_loopback


@given(st.text(string.printable, max_size=40))
async def test_no_header_that_is_not_loopback_passes(host: str) -> None:
    status = await passed([("Host", host)])

    name = host.rpartition(":")[0] if host.count(":") == 1 else host
    assert (status == 200) == is_loopback(name) or status == 421
