"""One request over HTTP, answered on its own: no session, no state, whatever the era.

The answer is plain JSON, unless there is something to say before it: then it is a stream. When the
client hangs up, the work stops.
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

from junto.transport.calls import Calls
from junto.transport.eras import connection_for, is_modern, version_fault
from junto.transport.messages import Fault, Message, parse, written

_JSON = "application/json"
_PING_SECONDS = 15.0
_PING = b": ping\r\n\r\n"
_EVENTS = 64  # that may wait for a slow client before whoever sends them must wait too
_JSON_HEADERS = [(b"content-type", _JSON.encode())]
_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


_Said = JSONRPCNotification | JSONRPCResponse | JSONRPCError


@dataclass(slots=True)
class _Channel:
    """What a running call can send back before its answer: notifications, and nothing that asks."""

    request_id: RequestId
    transport: TransportContext
    message_metadata: MessageMetadata
    progress_token: ProgressToken | None
    said: asyncio.Queue[_Said] | None
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
        if self.said is not None:
            body = None if params is None else dict(params)
            await self.said.put(JSONRPCNotification(jsonrpc="2.0", method=method, params=body))

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
    """Serves each POST by itself."""

    server: Server[Any]
    json_only: bool
    calls: Calls = field(default_factory=Calls)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        request = Request(scope, receive)
        refusal = self._refusal(request)
        if refusal is None:
            try:
                message = parse(await request.body())
            except ClientDisconnect:
                return
            if isinstance(message, JSONRPCRequest):
                await self._answer(message, request, send)
                return
            if isinstance(message, JSONRPCNotification):
                await self.calls.notice(request, message)
            refusal = _reply_to_no_request(message, request)
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
        connection = connection_for(asked, request.headers, self.server)
        if isinstance(connection, Fault):
            await _refused(_status(connection.code), connection)(
                request.scope, request.receive, send
            )
            return
        # What is listened for are the events themselves, so that is a stream whatever was set.
        listens = asked.method == "subscriptions/listen"
        token = progress_token_from_params(asked.params)
        said: asyncio.Queue[_Said] = asyncio.Queue(_EVENTS)
        channel = _Channel(
            request_id=asked.id,
            transport=TransportContext(
                kind="streamable-http", can_send_request=False, headers=request.headers
            ),
            message_metadata=ServerMessageMetadata(request_context=request),
            progress_token=token,
            said=None if self.json_only and not listens else said,
        )
        # Only who asked to be told of progress, or to listen, is kept awake with pings.
        pings = channel.said is not None and (listens or token is not None)
        replying = _Reply(said, send, is_modern(request.headers), pings)
        reply = asyncio.create_task(replying.sent())
        watch = asyncio.create_task(_hang_up(request))
        work = asyncio.create_task(self._outcome(asked, channel, connection, said))
        work.add_done_callback(lambda task: reply.cancel() if task.cancelled() else None)
        with self.calls.under_way(request, asked.id, work):
            try:
                await asyncio.wait({reply, watch}, return_when=asyncio.FIRST_COMPLETED)
                gone = watch.done()
            finally:
                # A cancelled call may still have something to tidy up.
                for task in (reply, watch, work):
                    task.cancel()
                await asyncio.gather(reply, watch, work, return_exceptions=True)
        if not reply.cancelled():
            reply.result()
        elif not gone:
            await replying.nothing()

    async def _outcome(
        self,
        asked: JSONRPCRequest,
        channel: _Channel,
        connection: Connection,
        said: "asyncio.Queue[_Said]",
    ) -> None:
        """Do what was asked, and say what came of it last."""
        try:
            result = await serve_one(
                self.server,
                channel,
                asked.method,
                asked.params,
                connection=connection,
                lifespan_state=None,
            )
        except Exception as error:  # noqa: BLE001 - the server has logged what it did not foresee
            data = handler_exception_to_error_data(error)
            data = data or ErrorData(code=INTERNAL_ERROR, message="Internal error")
            await said.put(JSONRPCError(jsonrpc="2.0", id=asked.id, error=data))
        else:
            await said.put(JSONRPCResponse(jsonrpc="2.0", id=asked.id, result=result))


def _reply_to_no_request(message: Message | Fault, request: Request) -> Response:
    """Return the reply to a body that asks for nothing: a fault, a notification, an answer."""
    if isinstance(message, Fault):
        return _refused(400, message)
    modern = is_modern(request.headers)
    if modern and not isinstance(message, JSONRPCNotification):
        return _refused(400, Fault(INVALID_REQUEST, "Nothing was asked that this could answer."))
    if modern and (fault := version_fault(request.headers)):
        return _refused(_status(fault.code), fault)
    return Response(status_code=202)


def _refused(status: int, fault: Fault) -> Response:
    return Response(fault.reply(), status, media_type=_JSON)


def _status(code: int) -> int:
    """Return the HTTP status that an error has in the modern era; older clients always get 200."""
    return ERROR_CODE_HTTP_STATUS.get(code, 200)


async def _hang_up(request: Request) -> None:
    """Return when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@dataclass(slots=True)
class _Reply:
    """Sends JSON if the answer comes first, and a stream if something else does."""

    said: asyncio.Queue[_Said]
    send: Send
    modern: bool
    pings: bool
    _started: bool = field(default=False, init=False)

    async def sent(self) -> None:
        message = await self._next()
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            await self._send_json(message)
            return
        await self._start(200, _STREAM_HEADERS)
        while not isinstance(message, JSONRPCResponse | JSONRPCError):
            await self._send(_PING if message is None else _frame(message), more=True)
            message = await self._next()
        await self._send(_frame(message), more=False)

    async def nothing(self) -> None:
        """End the exchange without an answer, as the protocol wants it for a cancelled call."""
        if not self._started:
            await self._start(202, [(b"content-length", b"0")])
        await self._send(b"", more=False)

    async def _next(self) -> _Said | None:
        """Return what is said next, or None when nothing was said for long."""
        try:
            async with asyncio.timeout(_PING_SECONDS if self.pings else None):
                return await self.said.get()
        except TimeoutError:
            return None

    async def _send_json(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        status = 200
        if self.modern and isinstance(answer, JSONRPCError):
            status = _status(answer.error.code)
        body = written(answer)
        length = (b"content-length", str(len(body)).encode())
        await self._start(status, [*_JSON_HEADERS, length])
        await self._send(body, more=False)

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self._started = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def _send(self, body: bytes, *, more: bool) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})


def _frame(message: Message) -> bytes:
    return b"event: message\r\ndata: " + written(message) + b"\r\n\r\n"
