"""An HTTP client for the background server that forwards JSON-RPC messages unchanged."""

import base64
import io
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import orjson

from junto.domain.ids import new_id
from junto.transport.raw_message import INTERNAL_ERROR, RawMessage, encode_error, encode_jsonrpc

_ACCEPT = "application/json, text/event-stream"
_NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# Values that are valid in a header are sent as they are; the MCP specification requires all others
# to be sent as `=?base64?…?=`.
_SAFE_HEADER = re.compile(r"(?!=\?base64\?)[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_BUFFER_BYTES = 1024 * 1024


HttpSession = aiohttp.ClientSession


def create_http_session() -> HttpSession:
    """Return an HTTP session for `DaemonClient`.

    Its unique User-Agent lets the server tell the calls of this process from those of others.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=_BUFFER_BYTES,
        headers={"User-Agent": f"junto-shared/{new_id()}"},
    )


@dataclass(slots=True)
class DaemonClient:
    """A client of one background server process."""

    http: HttpSession
    url: str
    tool_names: frozenset[str] | None = None
    _protocol_version: str = field(default="", init=False)
    _session_id: str = field(default="", init=False)

    async def forward(self, message: RawMessage) -> AsyncGenerator[bytes]:
        """Send a message and yield the messages of the response.

        Closing the generator early disconnects, which cancels the call on the server.

        Raises:
            aiohttp.ClientError: the server cannot be reached, or the connection was lost.
        """
        # Large bodies are sent in chunks, so that other calls can make progress meanwhile.
        data = message.line if len(message.line) < _BUFFER_BYTES else io.BytesIO(message.line)
        async with self.http.post(
            self.url, data=data, headers=self._build_headers(message)
        ) as response:
            self._session_id = response.headers.get("Mcp-Session-Id", self._session_id)
            if response.content_type == "text/event-stream":
                async for event in _iter_events(response.content):
                    yield event
            elif body := await response.read():
                if message.method == "initialize":
                    self._store_version(body)
                is_json_line = response.content_type == "application/json" and b"\n" not in body
                yield body if is_json_line else _encode_refusal(message, response.status)

    async def replay_handshake(self, handshake: RawMessage) -> None:
        """Initialize a new server with the handshake that the client sent to the previous one."""
        async for text in self.forward(handshake):
            self._store_version(text)
        async for _ in self.forward(
            RawMessage.parse(encode_jsonrpc(method="notifications/initialized"))
        ):
            pass

    async def load_tool_names(self) -> frozenset[str]:
        """Return the names of the server's tools, from a cache after the first call."""
        if self.tool_names is None:
            request = RawMessage.parse(
                encode_jsonrpc(id=0, method="tools/list", params={"_meta": _MODERN_META})
            )
            async for text in self.forward(request):
                tools = orjson.loads(text).get("result", {}).get("tools", ())
                self.tool_names = frozenset(tool["name"] for tool in tools)
        return self.tool_names or frozenset()

    def _build_headers(self, message: RawMessage) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT}
        if self._session_id:
            headers["Mcp-Session-Id"] = self._session_id
        if version := message.protocol_version or self._protocol_version:
            headers["Mcp-Protocol-Version"] = version
        if message.protocol_version and message.method:
            headers["Mcp-Method"] = _encode_header(message.method)
            if name := message.get_text_param(_NAME_PARAMS.get(message.method, "")):
                headers["Mcp-Name"] = _encode_header(name)
        return headers

    def _store_version(self, answer: bytes) -> None:
        """Store the protocol version from the response to `initialize`."""
        result = orjson.loads(answer).get("result") or {}
        self._protocol_version = str(result.get("protocolVersion") or "")


def _encode_refusal(message: RawMessage, status: int) -> bytes:
    """Return a JSON-RPC error for an HTTP response that is not a JSON-RPC message."""
    reason = f"The background server refused the message (HTTP {status})."
    return encode_error(INTERNAL_ERROR, reason, message.id)


def _encode_header(value: str) -> str:
    if _SAFE_HEADER.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


async def _iter_events(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield the data of each server-sent event."""
    data: list[bytes] = []
    async for line in _iter_lines(content):
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line and data:
            if text := b" ".join(data).strip():
                yield text
            data = []


async def _iter_lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    rest = bytearray()
    async for chunk in content.iter_any():
        first, *others = chunk.split(b"\n")
        rest += first
        for piece in others:
            yield bytes(rest).rstrip(b"\r")
            rest = bytearray(piece)
