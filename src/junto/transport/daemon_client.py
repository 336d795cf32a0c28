"""Another Junto over HTTP: a message goes there as it came, and so does what comes back."""

import base64
import io
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import orjson

from junto.domain.ids import new_id
from junto.transport.raw import INTERNAL_ERROR, Raw, message, refusal

_ACCEPT = "application/json, text/event-stream"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# What survives as a header is sent as it is, and everything else in disguise, as the protocol says.
_SAFE = re.compile(r"(?!=\?base64\?)[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_BUFFER = 1024 * 1024


Connections = aiohttp.ClientSession


def client() -> Connections:
    """Return what holds the connections; its name tells our calls from those of others."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=_BUFFER,
        headers={"User-Agent": f"junto-shared/{new_id()}"},
    )


@dataclass(slots=True)
class Upstream:
    """One server, for as long as it lives."""

    http: Connections
    url: str
    names: frozenset[str] | None = None
    _version: str = field(default="", init=False)
    _session: str = field(default="", init=False)

    async def exchange(self, asked: Raw) -> AsyncGenerator[bytes]:
        """Send a message and yield what comes back; leaving early stops the work over there.

        Raises:
            aiohttp.ClientError: the server was not reached, or is gone.
        """
        # What is large goes out in pieces, so that other calls get their turn.
        data = asked.line if len(asked.line) < _BUFFER else io.BytesIO(asked.line)
        async with self.http.post(self.url, data=data, headers=self._headers(asked)) as reply:
            self._session = reply.headers.get("Mcp-Session-Id", self._session)
            if reply.content_type == "text/event-stream":
                async for event in _events(reply.content):
                    yield event
            elif body := await reply.read():
                if asked.method == "initialize":
                    self._settle(body)
                sound = reply.content_type == "application/json" and b"\n" not in body
                yield body if sound else _complaint(asked, reply.status)

    async def greet(self, handshake: Raw) -> None:
        """Repeat to a new server the handshake that the client had with the one before."""
        async for text in self.exchange(handshake):
            self._settle(text)
        async for _ in self.exchange(Raw.of(message(method="notifications/initialized"))):
            pass

    async def learn(self) -> frozenset[str]:
        """Return the names of the tools over there."""
        if self.names is None:
            question = Raw.of(message(id=0, method="tools/list", params={"_meta": _MODERN}))
            async for text in self.exchange(question):
                tools = orjson.loads(text).get("result", {}).get("tools", ())
                self.names = frozenset(tool["name"] for tool in tools)
        return self.names or frozenset()

    def _headers(self, asked: Raw) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT}
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        if version := asked.version or self._version:
            headers["Mcp-Protocol-Version"] = version
        if asked.version and asked.method:
            headers["Mcp-Method"] = _disguised(asked.method)
            if name := asked.word(_NAMED_BY.get(asked.method, "")):
                headers["Mcp-Name"] = _disguised(name)
        return headers

    def _settle(self, answer: bytes) -> None:
        """Note the version that a handshake has led to."""
        result = orjson.loads(answer).get("result") or {}
        self._version = str(result.get("protocolVersion") or "")


def _complaint(asked: Raw, status: int) -> bytes:
    """Return an error for what was refused before anybody read it as a message."""
    reason = f"The background server refused the message (HTTP {status})."
    return refusal(INTERNAL_ERROR, reason, asked.id)


def _disguised(value: str) -> str:
    if _SAFE.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


async def _events(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield the data of server-sent events."""
    data: list[bytes] = []
    async for line in _lines(content):
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line and data:
            if text := b" ".join(data).strip():
                yield text
            data = []


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    rest = bytearray()
    async for chunk in content.iter_any():
        first, *others = chunk.split(b"\n")
        rest += first
        for piece in others:
            yield bytes(rest).rstrip(b"\r")
            rest = bytearray(piece)
