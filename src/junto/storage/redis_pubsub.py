"""Signals between servers, through Redis."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from junto.domain.errors import InputOutputError
from junto.domain.signals import Signal, Signals
from junto.storage.redis_server import reported
from junto.telemetry.logs import Log
from junto.work.tasks import beside

if TYPE_CHECKING:
    from redis.asyncio import Redis

_log = Log.of("storage")

_CHANNEL = "junto:signals"
# Shorter than the connection's own patience, which would take silence for a failure.
_LISTEN = 3.0
_AGAIN = 1.0


@dataclass(frozen=True, slots=True)
class RedisSignals(Signals):
    """Publishes signals to all servers that are connected to the same Redis."""

    redis: Callable[[], Awaitable["Redis"]]

    @override
    async def send(self, signal: Signal) -> None:
        try:
            with reported():
                await (await self.redis()).publish(_CHANNEL, json.dumps(dict(signal)))
        except InputOutputError as error:  # what it tells is noticed later, too
            _log.warning("signal not sent", reason=error.message)

    @override
    @contextlib.asynccontextmanager
    async def heard(self, listener: Callable[[Signal], None]) -> AsyncIterator[None]:
        async with beside(self._listen(listener)):
            yield

    async def _listen(self, listener: Callable[[Signal], None]) -> None:
        while True:
            try:
                with reported():
                    await self._follow(listener)
            except InputOutputError as error:
                _log.warning("signals not heard", reason=error.message)
            await asyncio.sleep(_AGAIN)

    async def _follow(self, listener: Callable[[Signal], None]) -> None:
        async with (await self.redis()).pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(_CHANNEL)
            while True:
                message = await channel.get_message(timeout=_LISTEN)
                if message:
                    with contextlib.suppress(ValueError):  # somebody else's
                        signal = json.loads(message["data"])
                        listener(signal if isinstance(signal, dict) else {})
