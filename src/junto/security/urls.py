"""Which web addresses may be asked for, before anybody looks up their names."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import yarl

from junto.domain.errors import SecurityError
from junto.security.addresses import is_public

_MOST_CHARACTERS = 8000
WEB = ("https", "http")


def check_url(url: str, schemes: Sequence[str] = WEB) -> None:
    """Let only public web addresses pass; those by name are checked again once looked up.

    Raises:
        SecurityError: it is none, or spelled in a way that could be understood in two.
    """
    if len(url) > _MOST_CHARACTERS or any(ord(character) <= ord(" ") for character in url):
        raise SecurityError("A web address is short, and has no blanks in it.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        # As the connection will understand it: some dots of other alphabets are dots to it, too.
        meant = yarl.URL(url).host or ""
    except ValueError:
        raise SecurityError("That is no web address.") from None
    if not host.isascii() or host != meant.lower() or "\\" in parts.netloc:
        raise SecurityError("A web address is written in plain letters.")
    if parts.scheme not in schemes or not host or "@" in parts.netloc:
        raise SecurityError(f"A web address begins with {schemes[0]}:// and names no user.")
    if (":" in host or host.replace(".", "").isdigit()) and not is_public(host):
        raise SecurityError(f"{host} is not on the public web.")
