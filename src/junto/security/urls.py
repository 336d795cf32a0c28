"""Check which URLs and IP addresses may be requested, to prevent SSRF."""

import ipaddress
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import yarl

from junto.domain.errors import SecurityError
from junto.security.special_addresses import GLOBAL_UNICAST_V6, SPECIAL_V4, SPECIAL_V6

# Returns whether an IP address may be connected to.
AddressPolicy = Callable[[str], bool]

_MAX_URL_CHARS = 8000
WEB_SCHEMES = ("https", "http")


def is_public_address(address: str) -> bool:
    """Return whether an IP address belongs to the public internet."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in SPECIAL_V4)
    return parsed in GLOBAL_UNICAST_V6 and not any(parsed in network for network in SPECIAL_V6)


def check_url(
    url: str,
    schemes: Sequence[str] = WEB_SCHEMES,
    *,
    address_policy: AddressPolicy = is_public_address,
) -> None:
    """Accept only URLs of public web hosts.

    Host names are not resolved here; their addresses are checked when connecting.

    Raises:
        SecurityError: the URL is not public, or is spelled ambiguously.
    """
    if len(url) > _MAX_URL_CHARS or any(ord(char) <= ord(" ") for char in url):
        raise SecurityError("A web address is short, and has no blanks in it.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        # The host as the HTTP client parses it, which also treats some Unicode dots as dots.
        client_host = yarl.URL(url).host or ""
    except (ValueError, IndexError):  # yarl raises the latter for an empty host after a user
        raise SecurityError("That is no web address.") from None
    if not host.isascii() or host != client_host.lower() or "\\" in parts.netloc:
        raise SecurityError("A web address is written in plain letters.")
    if parts.scheme not in schemes or not host or "@" in parts.netloc:
        raise SecurityError(f"A web address begins with {schemes[0]}:// and names no user.")
    if (":" in host or host.replace(".", "").isdigit()) and not address_policy(host):
        raise SecurityError(f"{host} is not on the public web.")
