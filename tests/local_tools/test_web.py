"""The public web and nothing else: spellings, names that change, redirects, limits."""

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
from junto.kit.web import fetched
from tests.clients import Remark

PRIVATE = [
    "127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "0.0.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.192", "168.63.129.16",
]  # fmt: skip


class Lookup(AbstractResolver):
    """Answers as it is told, each time with the next of its answers."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = self.answers[min(self.asked, len(self.answers) - 1)] if self.answers else None
        self.asked += 1
        if found is None:  # as the system does: a number in any form is an address
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
    """Note every connection that is begun, and let none come about."""
    begun: list[Any] = []

    async def refuse(_loop: Any, _socket: Any, address: Any) -> None:
        begun.append(address)
        raise OSError("not here")

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", refuse)
    return begun


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
    yield from (f"{address}.", f"%31{address[1:]}", address.translate(_WIDE), f"user@{address}")
    yield from (
        f"{address}:80",
        f"{address}#@example.org",
        f"example.org@{address}",
        f"{address}%00",
    )
    yield from (f"{address}\\@example.org", f"\t{address}", f"{address}\n", f"{address} ")


_WIDE = str.maketrans("0123456789.", "０１２３４５６７８９．")  # noqa: RUF001 - wide digits


async def test_no_spelling_of_a_private_address_is_connected_to(
    connections: list[Any], remark: Remark
) -> None:
    tried = 0
    for address, scheme in itertools.product(PRIVATE, ("http", "https")):
        for spelling in _spellings(address):
            tried += 1
            with pytest.raises(JuntoError):
                await fetched(f"{scheme}://{spelling}/", lookup=Lookup())
    remark(f"{tried:,} spellings of private addresses, none was connected to")

    assert connections == []
    assert tried > 10_000


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["fe80::1"], []],
)
async def test_a_name_with_any_private_address_is_refused(
    connections: list[Any], answers: list[str]
) -> None:
    with pytest.raises(JuntoError):
        await fetched("http://example.org/", lookup=Lookup(answers))

    assert connections == []


async def test_a_name_that_changes_after_the_check_is_asked_only_once(
    connections: list[Any],
) -> None:
    lookup = Lookup(["93.184.216.34"], ["127.0.0.1"])

    with pytest.raises(NetworkError):
        await fetched("http://rebinding.example/", lookup=lookup)

    assert connections == [("93.184.216.34", 80)]
    assert lookup.asked == 1


@pytest.fixture
def open_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one address of loopback for a public one, so that there is something to fetch from."""
    for place in ("junto.kit.web.is_public", "junto.security.urls.is_public"):
        monkeypatch.setattr(place, lambda address: address == "127.0.0.1")


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
@pytest.mark.usefixtures("open_door")
async def test_a_page_is_fetched_with_its_kind_and_alphabet() -> None:
    page = web.Response(body="Grüße".encode("latin-1"), content_type="text/html", charset="latin-1")
    async with site(index=page) as url:
        found = await fetched(url)

    assert (found.status, found.text()) == (200, "Grüße")


@pytest.mark.usefixtures("open_door")
@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2/", "http://localhost.localdomain/", "file:///etc/passwd", "//127.0.0.2/x",
        "http://[::1]/", "ftp://127.0.0.1/", "http://user@127.0.0.1/", "gopher://127.0.0.1",
        "http://0x7f000002/", "http://127.2/", "javascript:1",
    ],
)  # fmt: skip
async def test_each_redirect_is_checked_again(target: str) -> None:
    away = web.Response(status=302, headers={"location": target})
    async with site(index=away) as url:
        with pytest.raises(JuntoError):
            await fetched(url, lookup=Lookup())


@pytest.mark.usefixtures("open_door")
async def test_a_chain_of_redirects_has_an_end() -> None:
    asked = []

    async def again(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=302, headers={"location": f"/{len(asked)}"})

    pages = dict.fromkeys(["index", *map(str, range(20))], again)
    async with site(**pages) as url:
        with pytest.raises(NetworkError, match="again and again"):
            await fetched(url)

    assert len(asked) == 6


@pytest.mark.usefixtures("open_door")
async def test_only_https_follows_https() -> None:
    with pytest.raises(SecurityError, match="https"):
        await fetched("http://127.0.0.1/", schemes=("https",))


@pytest.mark.usefixtures("open_door")
async def test_a_page_may_be_only_so_large_however_it_comes() -> None:
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
                await fetched(page, 100_000)
