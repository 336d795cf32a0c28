"""Attachments referenced by URI: files below the allowed directories, or on the public web."""

import asyncio
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from junto.domain.errors import NetworkError, SecurityError
from junto.security.paths import Roots

_HTTP_OK = 200
_URI_HELP = "A file is named by file:///path or https://address."


@dataclass(frozen=True, slots=True)
class Attachments:
    """A reader of attachments."""

    roots: Roots

    async def read(self, uri: str, max_bytes: int) -> bytes:
        """Return the content at `uri`.

        Raises:
            JuntoError: the URI is not allowed, or cannot be read.
        """
        try:
            parts = urlsplit(uri)
        except ValueError:
            raise SecurityError(_URI_HELP) from None
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return await asyncio.to_thread(self.roots.read, unquote(parts.path), max_bytes)
        if parts.scheme == "https":
            from junto.local_tools.web import fetch  # imports aiohttp, needed for URLs only

            response = await fetch(uri, max_bytes, ("https",))
            if response.status != _HTTP_OK:
                raise NetworkError(f"{parts.hostname} answered {response.status}.", retryable=False)
            return response.body
        raise SecurityError(_URI_HELP)
