"""Fetching from the public web, and from nowhere else."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override

from junto.domain.alphabets import declared
from junto.domain.errors import InputOutputError, NetworkError, SecurityError, TimeLimitError
from junto.security.addresses import is_public
from junto.security.urls import WEB, check_url

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_SECONDS = 10.0
MOST_BYTES = 5 * 1024 * 1024


class _Checked(AbstractResolver):
    """Looks names up, and refuses a name with any address that is not public.

    The connection goes to an address that was checked here: a name cannot change in between.
    """

    def __init__(self, lookup: AbstractResolver | None) -> None:
        self._inner = lookup or aiohttp.ThreadedResolver()

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

    def text(self) -> str:
        """Return the body as text, in the alphabet that it says it is written in."""
        return self.body.decode(declared(self.content_type) or "utf-8", "replace")


async def fetched(
    url: str,
    most_bytes: int = MOST_BYTES,
    schemes: Sequence[str] = WEB,
    lookup: AbstractResolver | None = None,
) -> Page:
    """Return what lies at `url`, after at most five redirects, each checked again.

    Raises:
        SecurityError: it, or a redirect, leads somewhere that is not public.
        NetworkError: it cannot be reached.
        InputOutputError: it is too large.
    """
    try:
        async with asyncio.timeout(_SECONDS), _session(lookup) as session:
            for _ in range(_MOST_REDIRECTS + 1):
                check_url(url, schemes)
                page, onward = await _once(session, url, most_bytes)
                if onward is None:
                    return page
                url = _joined(url, onward)
    except TimeoutError:
        raise TimeLimitError("It did not answer in time.") from None
    raise NetworkError("It redirects again and again.", retryable=False)


def _joined(url: str, onward: str) -> str:
    try:
        return urljoin(url, onward)
    except ValueError:
        raise SecurityError("It redirects to no web address.") from None


@asynccontextmanager
async def _session(lookup: AbstractResolver | None) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=_Checked(lookup), use_dns_cache=False),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=_SECONDS),
        trust_env=False,
    ) as session:
        yield session


async def _once(
    session: aiohttp.ClientSession, url: str, most_bytes: int
) -> tuple[Page, str | None]:
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
