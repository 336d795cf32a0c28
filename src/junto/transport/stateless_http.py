"""Stateless handling of MCP requests over HTTP, for all protocol versions.

The response is plain JSON, or an event stream if notifications precede it. When the client
disconnects, the call is cancelled.
"""

import asyncio
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
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import (
    handler_exception_to_error_data,
    progress_token_from_params,
)
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import (
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
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from junto.transport.inflight import InflightCalls
from junto.transport.messages import ErrorReply, Message, encode_message, parse_message
from junto.transport.versions import build_connection, check_version, is_modern

_JSON_TYPE = "application/json"
_PING_SECONDS = 15.0
_PING = b": ping\r\n\r\n"
_MAX_QUEUED_EVENTS = 64  # per call; further notifications wait for a slow client
_JSON_HEADERS = [(b"content-type", _JSON_TYPE.encode())]
_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


_OutgoingMessage = JSONRPCNotification | JSONRPCResponse | JSONRPCError


@dataclass(slots=True)
class _Channel:
    """The channel from a running call to its client; it sends notifications, but no requests."""

    request_id: RequestId
    transport: TransportContext
    message_metadata: MessageMetadata
    progress_token: ProgressToken | None
    outgoing: asyncio.Queue[_OutgoingMessage] | None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(  # the signature is defined by the SDK
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Raise an error: without a session the client cannot send a response."""
        raise NoBackChannelError(method)

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> None:
        """Send a notification, if the response may be a stream."""
        if self.outgoing is not None:
            body = None if params is None else dict(params)
            await self.outgoing.put(JSONRPCNotification(jsonrpc="2.0", method=method, params=body))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send a progress notification, if the client asked for progress."""
        if self.progress_token is None:
            return
        fields = {"progress": progress, "total": total, "message": message}
        known = {name: value for name, value in fields.items() if value is not None}
        await self.notify("notifications/progress", {"progressToken": self.progress_token, **known})


@dataclass(frozen=True, slots=True)
class StatelessHandler:
    """An ASGI application that answers each POST independently."""

    server: Server[Any]
    json_only: bool
    inflight: InflightCalls = field(default_factory=InflightCalls)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        request = Request(scope, receive)
        response = self._check_headers(request)
        if response is None:
            try:
                message = parse_message(await request.body())
            except ClientDisconnect:
                return
            if isinstance(message, JSONRPCRequest):
                await self._answer(message, request, send)
                return
            if isinstance(message, JSONRPCNotification):
                await self.inflight.handle_notification(request, message)
            response = _build_non_request_response(message, request)
        await response(scope, receive, send)

    def _check_headers(self, request: Request) -> Response | None:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != _JSON_TYPE:
            return _build_error_response(
                415, ErrorReply(INVALID_REQUEST, "Send Content-Type: application/json.")
            )
        accepts_json, accepts_stream = check_accept_headers(request)
        if not accepts_json or not (accepts_stream or self.json_only):
            reason = "Not acceptable: send `Accept: application/json, text/event-stream`."
            return _build_error_response(406, ErrorReply(INVALID_REQUEST, reason))
        return None

    async def _answer(self, message: JSONRPCRequest, request: Request, send: Send) -> None:
        connection = build_connection(message, request.headers, self.server)
        if isinstance(connection, ErrorReply):
            await _build_error_response(_to_http_status(connection.code), connection)(
                request.scope, request.receive, send
            )
            return
        # A subscription consists of notifications, so it is a stream even with `json_only`.
        is_subscription = message.method == "subscriptions/listen"
        progress_token = progress_token_from_params(message.params)
        outgoing: asyncio.Queue[_OutgoingMessage] = asyncio.Queue(_MAX_QUEUED_EVENTS)
        channel = _Channel(
            request_id=message.id,
            transport=TransportContext(
                kind="streamable-http", can_send_request=False, headers=request.headers
            ),
            message_metadata=ServerMessageMetadata(request_context=request),
            progress_token=progress_token,
            outgoing=None if self.json_only and not is_subscription else outgoing,
        )
        # A ping turns the response into a stream, so it needs a reason: progress or a subscription.
        should_ping = channel.outgoing is not None and (
            is_subscription or progress_token is not None
        )
        writer = _ResponseWriter(outgoing, send, is_modern(request.headers), should_ping)
        response = asyncio.create_task(writer.write())
        disconnect = asyncio.create_task(_wait_for_disconnect(request))
        call = asyncio.create_task(self._run_call(message, channel, connection, outgoing))
        call.add_done_callback(lambda task: response.cancel() if task.cancelled() else None)
        with self.inflight.track(request, message.id, call):
            try:
                await asyncio.wait({response, disconnect}, return_when=asyncio.FIRST_COMPLETED)
                disconnected = disconnect.done()
            finally:
                # Wait for the cancelled tasks too: the call may still have to clean up.
                for task in (response, disconnect, call):
                    task.cancel()
                await asyncio.gather(response, disconnect, call, return_exceptions=True)
        if not response.cancelled():
            response.result()
        elif not disconnected:
            await writer.write_empty()

    async def _run_call(
        self,
        message: JSONRPCRequest,
        channel: _Channel,
        connection: Connection,
        outgoing: "asyncio.Queue[_OutgoingMessage]",
    ) -> None:
        """Run the call and put its result or error on the queue as the last message."""
        try:
            result = await serve_one(
                self.server,
                channel,
                message.method,
                message.params,
                connection=connection,
                lifespan_state=None,
            )
        except Exception as error:  # noqa: BLE001 - the server has logged unexpected errors
            data = handler_exception_to_error_data(error)
            data = data or ErrorData(code=INTERNAL_ERROR, message="Internal error")
            await outgoing.put(JSONRPCError(jsonrpc="2.0", id=message.id, error=data))
        else:
            await outgoing.put(JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result))


def _build_non_request_response(message: Message | ErrorReply, request: Request) -> Response:
    """Return the HTTP response to a notification, a response, or an invalid message."""
    if isinstance(message, ErrorReply):
        return _build_error_response(400, message)
    modern = is_modern(request.headers)
    if modern and not isinstance(message, JSONRPCNotification):
        return _build_error_response(
            400, ErrorReply(INVALID_REQUEST, "Nothing was asked that this could answer.")
        )
    if modern and (error := check_version(request.headers)):
        return _build_error_response(_to_http_status(error.code), error)
    return Response(status_code=202)


def _build_error_response(status: int, error: ErrorReply) -> Response:
    return Response(error.encode(), status, media_type=_JSON_TYPE)


def _to_http_status(code: int) -> int:
    """Return the HTTP status of an error for modern clients; older ones always get 200."""
    return ERROR_CODE_HTTP_STATUS.get(code, 200)


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@dataclass(slots=True)
class _ResponseWriter:
    """Sends JSON if the first message is the response, and an event stream otherwise."""

    outgoing: asyncio.Queue[_OutgoingMessage]
    send: Send
    is_modern: bool
    should_ping: bool
    _has_started: bool = field(default=False, init=False)

    async def write(self) -> None:
        message = await self._get_next()
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            await self._send_json(message)
            return
        await self._start(200, _STREAM_HEADERS)
        while not isinstance(message, JSONRPCResponse | JSONRPCError):
            await self._send(_PING if message is None else _encode_event(message), more=True)
            message = await self._get_next()
        await self._send(_encode_event(message), more=False)

    async def write_empty(self) -> None:
        """End the HTTP response without a message, as the protocol requires for cancelled calls."""
        if not self._has_started:
            await self._start(202, [(b"content-length", b"0")])
        await self._send(b"", more=False)

    async def _get_next(self) -> _OutgoingMessage | None:
        """Return the next message, or None when it is time for a ping."""
        if not self.should_ping:
            return await self.outgoing.get()
        try:
            async with asyncio.timeout(_PING_SECONDS):
                return await self.outgoing.get()
        except TimeoutError:
            return None

    async def _send_json(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        status = 200
        if self.is_modern and isinstance(answer, JSONRPCError):
            status = _to_http_status(answer.error.code)
        body = encode_message(answer)
        length = (b"content-length", str(len(body)).encode())
        await self._start(status, [*_JSON_HEADERS, length])
        await self._send(body, more=False)

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self._has_started = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def _send(self, body: bytes, *, more: bool) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})


def _encode_event(message: Message) -> bytes:
    return b"event: message\r\ndata: " + encode_message(message) + b"\r\n\r\n"
