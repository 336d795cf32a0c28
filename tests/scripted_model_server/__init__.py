"""A model API on loopback that says what it is told to say, and misbehaves when told to.

async with Upstream.started() as upstream:
    upstream.will(Reply(anthropic_events("Hello")))
    ... ask it at upstream.url ...
    assert upstream.requests[0].body["model"] == "m"
"""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]
FLOOD_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True)
class ScriptedReply:
    """What to answer: events, raw bytes or an error, and how to behave meanwhile."""

    events: Sequence[Json | bytes] = ()
    status: int = 200
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_before: bool = False  # accept the request and say nothing
    hang_after: int | None = None  # say so many events, then nothing
    cut_after: int | None = None  # say so many events, then break the connection
    pieces: int | None = None  # send the stream in pieces of so many bytes
    flood: Json | None = None  # after the events, say this again and again, 100 MB in all


@dataclass
class ReceivedRequest:
    """A request, and whether its sender is still there."""

    path: str
    headers: dict[str, str]
    body: Json
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)


class ScriptedModelServer:
    """The server; each request takes the next reply of the script, the last one stays."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.arrived = asyncio.Event()
        self.url = ""
        self._script: deque[ScriptedReply] = deque()

    def enqueue(self, *replies: ScriptedReply) -> None:
        self._script.extend(replies)

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls) -> AsyncIterator["ScriptedModelServer"]:
        upstream = cls()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", upstream._answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        upstream.url = f"http://127.0.0.1:{port}"
        try:
            yield upstream
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        received = ReceivedRequest(request.path, dict(request.headers), json.loads(body or b"{}"))
        self.requests.append(received)
        self.arrived.set()
        reply = self._script.popleft() if len(self._script) > 1 else self._script[0]
        try:
            return await self._send(request, reply)
        except (asyncio.CancelledError, ConnectionError):
            received.hung_up.set()
            raise

    async def _send(self, request: web.Request, reply: ScriptedReply) -> web.StreamResponse:
        if reply.hang_before:
            await asyncio.Event().wait()
        if reply.body is not None or reply.status != 200:
            return web.json_response(reply.body or {}, status=reply.status, headers=reply.headers)
        response = web.StreamResponse(
            headers={"content-type": "text/event-stream", **reply.headers}
        )
        await response.prepare(request)
        said = [encode_event(event) for event in reply.events]
        shown = said[: _min_given(reply.hang_after, reply.cut_after, len(said))]
        for piece in _split(b"".join(shown), reply.pieces):
            await response.write(piece)
        if reply.flood is not None:
            piece = encode_event(reply.flood)
            piece *= max(1, 64 * 1024 // len(piece))
            for _ in range(FLOOD_BYTES // len(piece)):
                await response.write(piece)
        if reply.hang_after is not None:
            await asyncio.Event().wait()
        if reply.cut_after is not None and request.transport:
            request.transport.abort()
        return response


def _min_given(*numbers: int | None) -> int:
    return min(number for number in numbers if number is not None)


def encode_event(event: Json | bytes) -> bytes:
    if isinstance(event, bytes):
        return event
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def _split(data: bytes, size: int | None) -> list[bytes]:
    size = size or max(len(data), 1)
    return [data[start : start + size] for start in range(0, len(data), size)]


def anthropic_events(*texts: str, **stop: Any) -> list[Json]:
    """Return the events of an answer in Anthropic's dialect, one delta for each text."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    deltas = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        }
        for text in texts
    ]
    return [
        {"type": "message_start", "message": {"model": "m-1", "usage": usage, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", **stop},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]


def openai_events(*texts: str, finish: str = "stop") -> list[Json | bytes]:
    """Return the chunks of an answer in OpenAI's dialect, one for each text."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return [
        *({"model": "m-1", "choices": [{"index": 0, "delta": {"content": t}}]} for t in texts),
        {"model": "m-1", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"model": "m-1", "choices": [], "usage": usage},
        b"data: [DONE]\n\n",
    ]
