"""Fetching from the public web, and from nowhere else."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
import yarl
from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override

from junto.domain.errors import InputOutputError, NetworkError, SecurityError, TimeLimitError
from junto.security.addresses import is_public

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_SECONDS = 10.0


class _Checked(AbstractResolver):
    """Looks names up, and refuses a name with any address that is not public.

    The connection goes to an address that was checked here: a name cannot change in between.
    """

    def __init__(self) -> None:
        self._inner = aiohttp.ThreadedResolver()

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if not found or not all(is_public(each["host"]) for each in found):
            raise SecurityError(f"{host} is not on the public web.")
        return found

    @override
    async def close(self) -> None:
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class Page:
    """What was fetched."""

    url: str
    status: int
    content_type: str
    body: bytes


async def fetched(url: str, most_bytes: int) -> Page:
    """Return what lies at `url`, after at most five redirects, each checked again.

    Raises:
        SecurityError: it, or a redirect, leads somewhere that is not public.
        NetworkError: it cannot be reached.
        InputOutputError: it is too large.
    """
    async with _session() as session:
        for _ in range(_MOST_REDIRECTS + 1):
            page, onward = await _once(session, url, most_bytes)
            if onward is None:
                return page
            url = urljoin(url, onward)
    raise NetworkError("It redirects again and again.", retryable=False)


@asynccontextmanager
async def _session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=_Checked(), use_dns_cache=False),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=_SECONDS),
        trust_env=False,
    ) as session:
        yield session


async def _once(
    session: aiohttp.ClientSession, url: str, most_bytes: int
) -> tuple[Page, str | None]:
    _check(url)
    try:
        async with session.get(url, allow_redirects=False) as response:
            onward = response.headers.get("location") if response.status in _REDIRECTS else None
            body = await _body(response, most_bytes) if onward is None else b""
            kind = response.headers.get("content-type", "")
            return Page(url, response.status, kind, body), onward
    except TimeoutError:
        raise TimeLimitError("It did not answer in time.") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NetworkError(f"It could not be reached ({type(error).__name__}).") from None


async def _body(response: Any, most_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        if len(body) > most_bytes:
            raise InputOutputError(f"It is larger than {most_bytes:,} bytes.")
    return bytes(body)


def _check(url: str) -> None:
    """Refuse what is no web address, and addresses that no lookup would see."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        # As the connection will understand it: some dots of other alphabets are dots to it, too.
        meant = yarl.URL(url).host or ""
    except ValueError:
        raise SecurityError("That is no web address.") from None
    if not host.isascii() or host != meant.lower():
        raise SecurityError("A web address is written in plain letters.")
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.password:
        raise SecurityError("A web address begins with https:// and names no user.")
    numeric = ":" in host or host.replace(".", "").isdigit()
    if numeric and not is_public(host):
        raise SecurityError(f"{host} is not on the public web.")
