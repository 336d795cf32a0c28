"""Routing of proxied messages to the background server or to the server in this process.

Tools that act on this machine (files, commands, the agent) run in this process, because it has the
working directory, environment and permissions of the client; the background server does not.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import aiohttp
import orjson

from junto.domain.errors import JuntoError
from junto.transport.daemon_client import DaemonClient
from junto.transport.in_process import InProcessClient
from junto.transport.raw_message import RawMessage, encode_failure

_DAEMON_ENDED_MESSAGE = (
    "The background server ended before it answered. Try again: a new one is started."
)
# Lists that are merged from both servers: the key of the list and the key that identifies an entry.
_MERGED_LISTS = {
    "tools/list": ("tools", "name"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}


class FindDaemon(Protocol):
    """A function that finds or starts the background server."""

    def __call__(self, *, anew: bool) -> Awaitable[DaemonClient]:
        """Return a client of the background server, which is started if necessary.

        Args:
            anew: Do not reuse the known server, because connecting to it failed.

        Raises:
            JuntoError: there is no background server and none can be started.
        """
        ...


@dataclass(slots=True)
class ProxyRouter:
    """Routes messages to the background server or to the server in this process.

    Each of them is started when the first message needs it: `find_daemon` returns the background
    server, `build_in_process` the one in this process.
    """

    find_daemon: FindDaemon
    build_in_process: Callable[[], Awaitable[InProcessClient]]
    on_notice: Callable[[str], None]
    _is_standalone: bool = field(default=False, init=False)
    _daemon: DaemonClient | None = field(default=None, init=False)
    _handshake: RawMessage | None = field(default=None, init=False)
    _in_process_task: "asyncio.Task[InProcessClient] | None" = field(default=None, init=False)
    _handshake_lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def forward(self, message: RawMessage) -> AsyncGenerator[bytes]:
        """Forward a message and yield the replies for the client."""
        if message.method == "initialize":
            self._handshake = message
        if (
            not self._is_standalone
            and message.method in _MERGED_LISTS
            and "cursor" not in (message.params or {})
        ):
            replies = self._forward_merged(message)
        elif self._is_standalone or await self._is_for_in_process(message):
            replies = self._forward_in_process(message)
        else:
            replies = self._forward_to_daemon(message)
        async for text in replies:
            yield text

    async def _forward_to_daemon(self, message: RawMessage) -> AsyncGenerator[bytes]:
        """Forward to the background server; yield an error if it ends before it answers."""
        answered = False
        try:
            async for text in self._forward_with_retry(message):
                answered = answered or RawMessage.parse(text).is_response
                yield text
        except JuntoError as error:
            self._switch_to_standalone(error)
            async for text in self._forward_in_process(message):
                yield text
            return
        except (aiohttp.ClientError, OSError):
            pass
        if message.is_request and not answered:
            yield encode_failure(message, _DAEMON_ENDED_MESSAGE)

    def _switch_to_standalone(self, error: JuntoError) -> None:
        if not self._is_standalone:
            self._is_standalone = True
            self.on_notice(
                f"{error.message}\nThis process serves alone, without a background server."
            )

    async def _forward_with_retry(self, message: RawMessage) -> AsyncGenerator[bytes]:
        try:
            daemon = await self._connect_daemon(message)
            async for text in daemon.forward(message):
                yield text
        except aiohttp.ClientConnectorError:
            # The server is stopping or has just stopped. Nothing was sent, so a retry is safe.
            daemon = await self._connect_daemon(message, anew=True)
            async for text in daemon.forward(message):
                yield text

    async def _connect_daemon(self, message: RawMessage, *, anew: bool = False) -> DaemonClient:
        """Return the background server, initialized with the client's handshake."""
        daemon = await self.find_daemon(anew=anew)
        async with self._handshake_lock:
            if daemon is not self._daemon:
                if self._handshake and message.method != "initialize":
                    await daemon.replay_handshake(self._handshake)
                self._daemon = daemon
        return daemon

    async def _ensure_in_process(self, message: RawMessage) -> InProcessClient:
        """Return the server in this process, initialized with the client's handshake."""
        if self._in_process_task is None:
            self._in_process_task = asyncio.create_task(self._start_in_process(message))
        # Cancelling the call must not cancel the start of the server, which other calls share.
        return await asyncio.shield(self._in_process_task)

    async def _start_in_process(self, message: RawMessage) -> InProcessClient:
        server = await self.build_in_process()
        if self._handshake and message.method != "initialize":
            await server.replay_handshake(self._handshake)
        return server

    async def _forward_in_process(self, message: RawMessage) -> AsyncGenerator[bytes]:
        """Forward to the server in this process."""
        try:
            server = await self._ensure_in_process(message)
        except JuntoError as error:
            if message.is_request:
                yield encode_failure(message, error.message)
            return
        async for text in server.forward(message):
            yield text

    async def _forward_merged(self, message: RawMessage) -> AsyncGenerator[bytes]:
        """Yield a list with the entries of both servers."""
        texts = [text async for text in self._forward_to_daemon(message)]
        answer = orjson.loads(texts.pop()) if texts else {}
        if not self._is_standalone and "result" in answer:
            list_key, id_key = _MERGED_LISTS[message.method]
            known = {entry[id_key] for entry in answer["result"][list_key]}
            async for text in self._forward_in_process(message):
                entries = orjson.loads(text).get("result", {}).get(list_key, ())
                answer["result"][list_key] += [
                    each for each in entries if each[id_key] not in known
                ]
        for text in texts:
            yield text
        yield orjson.dumps(answer)

    async def _is_for_in_process(self, message: RawMessage) -> bool:
        """Return whether a message is for the server in this process."""
        if message.is_response:
            return (
                self._in_process_task is not None
                and message.key in (await self._ensure_in_process(message)).server_request_ids
            )
        if message.method == "resources/read":
            return message.get_text_param("uri").startswith("file:")
        if message.method != "tools/call":
            return False
        try:
            names = await (await self._connect_daemon(message)).load_tool_names()
        except (JuntoError, aiohttp.ClientError, OSError):
            return False  # forwarding the message reports the error
        return _to_snake_case(message.get_text_param("name")) not in names


def _to_snake_case(name: str) -> str:
    """Return a tool name as it is listed; calls may use camelCase."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
