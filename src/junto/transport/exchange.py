"""One request of a client before 2026-07-28 over HTTP, answered on its own: no session, no state.

The SDK's stateless transport for these clients opens a stream for every answer and builds a whole
connection around every request. This one answers in plain JSON, turns to a stream only when there
is something to say before the answer, and stops the work when the client hangs up.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import (
    handler_exception_to_error_data,
    progress_token_from_params,
)
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ProgressToken,
    RequestId,
)
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from junto.transport.messages import Fault, parse, written

_JSON = "application/json"
_PING_SECONDS = 15.0
_EVENTS = 64  # that may wait for a slow client before whoever sends them must wait too
_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


@dataclass(slots=True)
class _Channel:
    """What a running call can send back before its answer: notifications, and nothing that asks."""

    request_id: RequestId
    transport: TransportContext
    message_metadata: MessageMetadata
    progress_token: ProgressToken | None
    events: asyncio.Queue[JSONRPCNotification] | None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(  # the SDK decides what it takes
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Refuse: the client's reply would have nowhere to arrive."""
        raise NoBackChannelError(method)

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> None:
        """Send a notification, if there is a stream to send it on."""
        if self.events is not None:
            body = None if params is None else dict(params)
            await self.events.put(JSONRPCNotification(jsonrpc="2.0", method=method, params=body))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell how far the call is, if the client asked to know."""
        if self.progress_token is None:
            return
        facts = {"progress": progress, "total": total, "message": message}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        await self.notify("notifications/progress", {"progressToken": self.progress_token, **known})


@dataclass(frozen=True, slots=True)
class Exchange:
    """Serves handshake-era clients, each POST by itself."""

    server: Server[Any]
    json_only: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        request = Request(scope, receive)
        refusal = self._refusal(request)
        if refusal is None:
            parsed = _parsed(await request.body())
            if isinstance(parsed, JSONRPCRequest):
                await self._answer(parsed, request, send)
                return
            refusal = parsed
        await refusal(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != _JSON:
            return _refused(415, Fault(INVALID_REQUEST, "Send Content-Type: application/json."))
        takes_json, takes_stream = check_accept_headers(request)
        if not takes_json or not (takes_stream or self.json_only):
            reason = "Not acceptable: send `Accept: application/json, text/event-stream`."
            return _refused(406, Fault(INVALID_REQUEST, reason))
        return None

    async def _answer(self, asked: JSONRPCRequest, request: Request, send: Send) -> None:
        events: asyncio.Queue[JSONRPCNotification] = asyncio.Queue(_EVENTS)
        channel = _Channel(
            request_id=asked.id,
            transport=TransportContext(
                kind="streamable-http", can_send_request=False, headers=request.headers
            ),
            message_metadata=ServerMessageMetadata(request_context=request),
            progress_token=progress_token_from_params(asked.params),
            events=None if self.json_only else events,
        )
        version = request.headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
        work = asyncio.create_task(self._outcome(asked, channel, version))
        watch = asyncio.create_task(_stop_on_hang_up(request, work))
        try:
            await _reply(work, events, request.scope, request.receive, send)
        finally:
            watch.cancel()
            work.cancel()
            # A cancelled call may still have something to tidy up; the client is gone already.
            with contextlib.suppress(asyncio.CancelledError):
                await work

    async def _outcome(
        self, asked: JSONRPCRequest, channel: _Channel, version: str
    ) -> JSONRPCResponse | JSONRPCError:
        try:
            result = await serve_one(
                self.server,
                channel,
                asked.method,
                asked.params,
                connection=Connection.from_envelope(version, None, None),
                lifespan_state=None,
            )
        except Exception as error:  # noqa: BLE001 - the server has logged what it did not foresee
            data = handler_exception_to_error_data(error)
            data = data or ErrorData(code=INTERNAL_ERROR, message="Internal error")
            return JSONRPCError(jsonrpc="2.0", id=asked.id, error=data)
        return JSONRPCResponse(jsonrpc="2.0", id=asked.id, result=result)


def _parsed(body: bytes) -> JSONRPCRequest | Response:
    """Return the request in a body, or the reply to whatever else it is."""
    message = parse(body)
    if isinstance(message, Fault):
        return _refused(400, message)
    # A notification, or an answer to a question that we never ask here: taken note of.
    return message if isinstance(message, JSONRPCRequest) else Response(status_code=202)


def _refused(status: int, fault: Fault) -> Response:
    return Response(fault.reply(), status, media_type=_JSON)


async def _stop_on_hang_up(request: Request, work: "asyncio.Task[Any]") -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    work.cancel()


async def _reply(
    work: "asyncio.Task[JSONRPCResponse | JSONRPCError]",
    events: asyncio.Queue[JSONRPCNotification],
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Send JSON if the answer comes first, and a stream if something else does."""
    event = await _next_event(work, events)
    if event is None and work.done():
        if not work.cancelled():
            await Response(written(work.result()), media_type=_JSON)(scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
    while event is not None or not work.done():
        await _send_frame(send, b": ping\r\n\r\n" if event is None else _frame(event), more=True)
        event = await _next_event(work, events)
    if not work.cancelled():
        await _send_frame(send, _frame(work.result()), more=False)


async def _next_event(
    work: "asyncio.Task[Any]", events: asyncio.Queue[JSONRPCNotification]
) -> JSONRPCNotification | None:
    """Return the next event, or None when the work is done, or has been silent for long."""
    if events.empty() and not work.done():
        getter = asyncio.create_task(events.get())
        await asyncio.wait(
            {getter, work}, timeout=_PING_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        if getter.done():
            return getter.result()
        getter.cancel()
    return None if events.empty() else events.get_nowait()


def _frame(message: JSONRPCResponse | JSONRPCError | JSONRPCNotification) -> bytes:
    return b"event: message\r\ndata: " + written(message) + b"\r\n\r\n"


async def _send_frame(send: Send, frame: bytes, *, more: bool) -> None:
    await send({"type": "http.response.body", "body": frame, "more_body": more})
