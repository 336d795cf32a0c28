"""The ways in which a known secret may be spelled in text: escaped, quoted, encoded."""

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_MAX_FULLY_SPELLED_CHARS = 300


def list_spellings(secret: str) -> set[str]:
    """Return the secret in every common encoding."""
    plain = {secret, secret.strip()}
    if len(secret) > _MAX_FULLY_SPELLED_CHARS:  # a certificate, or a whole file of credentials
        quoted = {spelling for text in plain for spelling in _iter_quoted(text)}
        return plain | quoted | set(_iter_encoded(secret.encode("utf-8", "surrogatepass")))
    escaped = {spelling for text in plain for spelling in _iter_escaped(text)}
    # A provider may quote what it has received as JSON in a message that is JSON again.
    twice = {spelling for text in escaped for spelling in _iter_quoted(text)}
    encoded = set(_iter_encoded(secret.encode("utf-8", "surrogatepass")))
    return {spelling for spelling in plain | escaped | twice | encoded if spelling}


def _iter_escaped(text: str) -> Iterator[str]:
    yield from _iter_quoted(text)
    yield from _iter_html(text)
    for percent_encoded in _iter_percent_encoded(text):
        yield percent_encoded
        yield quote(percent_encoded, safe="")  # encoded twice, as in a redirect


def _iter_quoted(text: str) -> Iterator[str]:
    yield repr(text)[1:-1]
    yield ascii(text)[1:-1]
    for ensure_ascii in (True, False):
        quoted = json.dumps(text, ensure_ascii=ensure_ascii)[1:-1]
        yield quoted
        yield quoted.replace("/", "\\/")  # as PHP and others write it
        # Characters that may be escaped in JSON inside a page.
        yield (
            quoted.replace("&", "\\u0026")
            .replace("<", "\\u003c")
            .replace(">", "\\u003e")
            .replace("'", "\\u0027")
        )
    yield text.replace("'", "'\\''")  # in a shell, in two ways
    yield text.replace("'", "'\"'\"'")
    yield text.replace("'", "''")  # in YAML and SQL


def _iter_html(text: str) -> Iterator[str]:
    for escape_quotes in (True, False):
        yield html.escape(text, quote=escape_quotes)
    yield html.escape(text).replace("&#x27;", "&#39;")
    yield html.escape(text).replace("&#x27;", "&apos;")
    yield html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    yield "".join(f"&#{ord(char)};" for char in text)
    yield "".join(f"&#x{ord(char):x};" for char in text)
    yield "".join(f"&#x{ord(char):X};" for char in text)


def _iter_percent_encoded(text: str) -> Iterator[str]:
    data = text.encode("utf-8", "surrogatepass")
    for safe in ("", "/", "/:@", "!*'()~"):
        for encode in (quote, quote_plus):
            encoded = encode(data, safe=safe)
            yield encoded
            yield _lower_hex(encoded)
    everything = "".join(f"%{byte:02X}" for byte in data)
    yield everything
    yield everything.lower()


def _lower_hex(encoded: str) -> str:
    first, *rest = encoded.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _iter_encoded(data: bytes) -> Iterator[str]:
    yield data.hex()
    yield data.hex().upper()
    yield data.hex(":")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        # At each of three positions, as in the base64 of `user:key`; only the characters that do
        # not depend on what stands before and after.
        for offset, skipped in ((0, 0), (1, 2), (2, 3)):
            encoded = encode(b"\0" * offset + data).decode()
            yield encoded[skipped : (offset + len(data)) * 8 // 6]
