"""Only the public web is fetched: spellings of addresses, DNS rebinding, redirects, limits."""

import asyncio
import ipaddress
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override

from junto.domain.errors import InputOutputError, JuntoError, NetworkError, SecurityError
from junto.local_tools.web import fetch
from tests.clients import Remark

PRIVATE_ADDRESSES = [
    "127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "0.0.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.192", "168.63.129.16",
]  # fmt: skip


class FakeResolver(AbstractResolver):
    """Resolves a name to each of the given answers in turn, then to the last one."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.calls = list(answers), 0

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = self.answers[min(self.calls, len(self.answers) - 1)] if self.answers else None
        self.calls += 1
        if found is None:  # like the system resolver: a number in any form is an address
            found = [socket.inet_ntoa(socket.inet_aton(host))]
        return [
            {"hostname": host, "host": each, "port": port, "family": family, "proto": 0, "flags": 0}
            for each in found
        ]

    @override
    async def close(self) -> None:
        pass


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the address of every attempted connection, and refuse them all."""
    addresses: list[Any] = []

    async def refuse(_loop: Any, _socket: Any, address: Any) -> None:
        addresses.append(address)
        raise OSError("not here")

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", refuse)
    return addresses


def _spellings(address: str) -> Iterator[str]:
    a, b, c, d = (int(part) for part in address.split("."))
    whole = int(ipaddress.IPv4Address(address))
    yield from (address, str(whole), hex(whole), hex(whole).upper(), oct(whole).replace("o", ""))
    yield from (f"{a}.{(b << 16) + (c << 8) + d}", f"{a}.{b}.{(c << 8) + d}")
    forms: list[Callable[[int], str]] = [
        str, hex, lambda n: f"0{n:o}", lambda n: f"0x{n:08x}", lambda n: f"000{n:o}",
    ]  # fmt: skip
    for chosen in itertools.product(forms, repeat=4):
        yield ".".join(form(part) for form, part in zip(chosen, (a, b, c, d), strict=True))
    yield from (f"[::ffff:{address}]", f"[::{address}]", f"[64:ff9b::{address}]")
    yield f"[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::]"
    yield from (
        f"{address}.",
        f"%31{address[1:]}",
        address.translate(_FULL_WIDTH),
        f"user@{address}",
    )
    yield from (
        f"{address}:80",
        f"{address}#@example.org",
        f"example.org@{address}",
        f"{address}%00",
    )
    yield from (f"{address}\\@example.org", f"\t{address}", f"{address}\n", f"{address} ")


_FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９．")  # noqa: RUF001 - full-width digits


async def test_no_spelling_of_a_private_address_is_connected_to(
    connections: list[Any], remark: Remark
) -> None:
    attempts = 0
    for address, scheme in itertools.product(PRIVATE_ADDRESSES, ("http", "https")):
        for spelling in _spellings(address):
            attempts += 1
            with pytest.raises(JuntoError):
                await fetch(f"{scheme}://{spelling}/", resolver=FakeResolver())
    remark(f"{attempts:,} spellings of private addresses, none was connected to")

    assert connections == []
    assert attempts > 10_000


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["fe80::1"], []],
)
async def test_a_name_with_any_private_address_is_refused(
    connections: list[Any], answers: list[str]
) -> None:
    with pytest.raises(JuntoError):
        await fetch("http://example.org/", resolver=FakeResolver(answers))

    assert connections == []


async def test_a_name_is_resolved_once_and_cannot_change_after_the_check(
    connections: list[Any],
) -> None:
    resolver = FakeResolver(["93.184.216.34"], ["127.0.0.1"])

    with pytest.raises(NetworkError):
        await fetch("http://rebinding.example/", resolver=resolver)

    assert connections == [("93.184.216.34", 80)]
    assert resolver.calls == 1


def allow_test_server(address: str) -> bool:
    """Allow only 127.0.0.1, where the server of a test listens."""
    return address == "127.0.0.1"


@asynccontextmanager
async def site(**pages: Any) -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.StreamResponse:
        page = pages[request.path.strip("/") or "index"]
        found: web.StreamResponse = await page(request) if callable(page) else page
        return found

    app = web.Application()
    app.router.add_get("/{name:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.feature("F155")
async def test_a_page_is_fetched_and_decoded_with_its_charset() -> None:
    page = web.Response(body="Grüße".encode("latin-1"), content_type="text/html", charset="latin-1")
    async with site(index=page) as url:
        found = await fetch(url, address_policy=allow_test_server)

    assert (found.status, found.text()) == (200, "Grüße")


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2/", "http://localhost.localdomain/", "file:///etc/passwd", "//127.0.0.2/x",
        "http://[::1]/", "ftp://127.0.0.1/", "http://user@127.0.0.1/", "gopher://127.0.0.1",
        "http://0x7f000002/", "http://127.2/", "javascript:1",
    ],
)  # fmt: skip
async def test_each_redirect_is_checked_again(target: str) -> None:
    redirect = web.Response(status=302, headers={"location": target})
    async with site(index=redirect) as url:
        with pytest.raises(JuntoError):
            await fetch(url, resolver=FakeResolver(), address_policy=allow_test_server)


async def test_the_number_of_redirects_is_limited() -> None:
    paths = []

    async def redirect(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=302, headers={"location": f"/{len(paths)}"})

    pages = dict.fromkeys(["index", *map(str, range(20))], redirect)
    async with site(**pages) as url:
        with pytest.raises(NetworkError, match="again and again"):
            await fetch(url, address_policy=allow_test_server)

    assert len(paths) == 6


async def test_a_scheme_that_is_not_allowed_is_refused() -> None:
    with pytest.raises(SecurityError, match="https"):
        await fetch("http://127.0.0.1/", schemes=("https",), address_policy=allow_test_server)


async def test_the_size_of_streamed_and_compressed_pages_is_limited() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    bomb = web.Response(body=b"\0" * 20_000_000)
    bomb.enable_compression()
    async with site(index=endless, bomb=bomb) as url:
        for page in (url, f"{url}/bomb"):
            with pytest.raises(InputOutputError, match="larger"):
                await fetch(page, 100_000, address_policy=allow_test_server)
