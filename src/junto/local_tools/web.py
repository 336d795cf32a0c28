"""HTTP requests to public addresses, and to no others."""

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

from junto.domain.errors import InputOutputError, NetworkError, SecurityError, TimeLimitError
from junto.security.urls import WEB_SCHEMES, AddressPolicy, check_url, is_public_address
from junto.text.charsets import find_declared_codec

_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 5
_TIMEOUT_SECONDS = 10.0
MAX_BODY_BYTES = 5 * 1024 * 1024


class _CheckedResolver(AbstractResolver):
    """A DNS resolver that rejects names with any address that the policy does not allow.

    Connections use the addresses checked here, so DNS rebinding has no effect.
    """

    def __init__(self, resolver: AbstractResolver | None, address_policy: AddressPolicy) -> None:
        self._inner = resolver or aiohttp.ThreadedResolver()
        self._address_policy = address_policy

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._inner.resolve(host, port, family)
        if not results or not all(self._address_policy(each["host"]) for each in results):
            raise SecurityError(f"{host} is not on the public web.")
        return results

    @override
    async def close(self) -> None:
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class WebResponse:
    """The response to a request."""

    url: str
    status: int
    content_type: str
    body: bytes

    def text(self) -> str:
        """Return the body as text, decoded with the declared charset."""
        return self.body.decode(find_declared_codec(self.content_type) or "utf-8", "replace")


async def fetch(
    url: str,
    max_bytes: int = MAX_BODY_BYTES,
    schemes: Sequence[str] = WEB_SCHEMES,
    resolver: AbstractResolver | None = None,
    *,
    address_policy: AddressPolicy = is_public_address,
) -> WebResponse:
    """Fetch `url`, following at most five redirects, each checked like the first URL.

    Connects only to addresses that `address_policy` allows: by default, to public ones.

    Raises:
        SecurityError: the URL, or a redirect, leads to an address that is not public.
        NetworkError: the server cannot be reached.
        TimeLimitError: the server does not answer in time.
        InputOutputError: the body is too large.
    """
    try:
        async with (
            asyncio.timeout(_TIMEOUT_SECONDS),
            _open_session(resolver, address_policy) as session,
        ):
            for _ in range(_MAX_REDIRECTS + 1):
                check_url(url, schemes, address_policy=address_policy)
                response, location = await _fetch_once(session, url, max_bytes)
                if location is None:
                    return response
                url = _resolve_redirect(url, location)
    except TimeoutError:
        raise TimeLimitError("It did not answer in time.") from None
    raise NetworkError("It redirects again and again.", retryable=False)


def _resolve_redirect(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise SecurityError("It redirects to no web address.") from None


@asynccontextmanager
async def _open_session(
    resolver: AbstractResolver | None, address_policy: AddressPolicy
) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            resolver=_CheckedResolver(resolver, address_policy), use_dns_cache=False
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS),
        trust_env=False,
    ) as session:
        yield session


async def _fetch_once(
    session: aiohttp.ClientSession, url: str, max_bytes: int
) -> tuple[WebResponse, str | None]:
    try:
        async with session.get(url, allow_redirects=False) as response:
            location = (
                response.headers.get("location") if response.status in _REDIRECT_STATUSES else None
            )
            body = await _read_body(response, max_bytes) if location is None else b""
            content_type = response.headers.get("content-type", "")
            return WebResponse(url, response.status, content_type, body), location
    except TimeoutError:
        raise TimeLimitError("It did not answer in time.") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NetworkError(f"It could not be reached ({type(error).__name__}).") from None


async def _read_body(response: Any, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        if len(body) > max_bytes:
            raise InputOutputError(f"It is larger than {max_bytes:,} bytes.")
    return bytes(body)
