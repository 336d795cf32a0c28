"""Files that a question only names: beneath the allowed folders, or on the public web."""

import asyncio
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from junto.domain.errors import NetworkError, SecurityError
from junto.security.paths import Roots

_HTTP_OK = 200
_FORMS = "A file is named by file:///path or https://address."


@dataclass(frozen=True, slots=True)
class Attachments:
    """Reads them."""

    roots: Roots

    async def read(self, uri: str, most_bytes: int) -> bytes:
        """Return what lies at `uri`.

        Raises:
            JuntoError: it must not be read, or cannot.
        """
        try:
            parts = urlsplit(uri)
        except ValueError:
            raise SecurityError(_FORMS) from None
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return await asyncio.to_thread(self.roots.read, unquote(parts.path), most_bytes)
        if parts.scheme == "https":
            from junto.kit.web import fetched  # for those who name an address

            page = await fetched(uri, most_bytes, ("https",))
            if page.status != _HTTP_OK:
                raise NetworkError(f"{parts.hostname} answered {page.status}.", retryable=False)
            return page.body
        raise SecurityError(_FORMS)
