"""Publish/subscribe between servers, through Redis."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from junto.domain.errors import InputOutputError
from junto.domain.pubsub import PubSub, PubSubMessage
from junto.runtime.tasks import background_task
from junto.storage.redis_client import translate_errors
from junto.telemetry.logs import Log

if TYPE_CHECKING:
    from redis.asyncio import Redis

_log = Log.get("storage")

_CHANNEL = "junto:signals"
# Shorter than the connection's socket timeout, which would report silence as an error.
_POLL_TIMEOUT_SECONDS = 3.0
_RETRY_DELAY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RedisPubSub(PubSub):
    """A channel for messages between all servers that use the same Redis."""

    redis: Callable[[], Awaitable["Redis"]]

    @override
    async def publish(self, message: PubSubMessage) -> None:
        try:
            with translate_errors():
                await (await self.redis()).publish(_CHANNEL, json.dumps(dict(message)))
        except InputOutputError as error:  # not fatal: other servers also poll
            _log.warning("signal not sent", reason=error.message)

    @override
    @contextlib.asynccontextmanager
    async def subscribe(self, on_message: Callable[[PubSubMessage], None]) -> AsyncIterator[None]:
        async with background_task(self._listen(on_message)):
            yield

    async def _listen(self, on_message: Callable[[PubSubMessage], None]) -> None:
        while True:
            try:
                with translate_errors():
                    await self._receive(on_message)
            except InputOutputError as error:
                _log.warning("signals not heard", reason=error.message)
            await asyncio.sleep(_RETRY_DELAY_SECONDS)

    async def _receive(self, on_message: Callable[[PubSubMessage], None]) -> None:
        async with (await self.redis()).pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(_CHANNEL)
            while True:
                message = await channel.get_message(timeout=_POLL_TIMEOUT_SECONDS)
                if message:
                    with contextlib.suppress(ValueError):  # published by another program
                        data = json.loads(message["data"])
                        on_message(data if isinstance(data, dict) else {})
