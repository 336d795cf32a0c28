"""Which server answers a message: the one in the background, or the one in this process.

What a client may do to this machine (files, commands, the agent) is done here, in the folder, the
environment and with the rights that the client has given us; the background server has others.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import aiohttp
import orjson

from junto.domain.errors import JuntoError
from junto.transport.beside import Beside
from junto.transport.raw import Raw, failure
from junto.transport.upstream import Upstream

_ENDED = "The background server ended before it answered. Try again: a new one is started."
# Lists that both servers have a part of, and what tells their entries apart.
_JOINED = {
    "tools/list": ("tools", "name"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}


class Reach(Protocol):
    """Finds the background server."""

    def __call__(self, *, anew: bool) -> Awaitable[Upstream]:
        """Return it, started if need be; `anew` if the last one could not be connected to.

        Raises:
            JuntoError: there is none, and none can be started.
        """
        ...


@dataclass(slots=True)
class Routes:
    """Knows both servers, neither before it is needed.

    `build` makes the server in this process.
    """

    reach: Reach
    build: Callable[[], Awaitable[Beside]]
    say: Callable[[str], None]
    _alone: bool = field(default=False, init=False)
    _upstream: Upstream | None = field(default=None, init=False)
    _handshake: Raw | None = field(default=None, init=False)
    _beside: "asyncio.Task[Beside] | None" = field(default=None, init=False)
    _greeting: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def exchange(self, asked: Raw) -> AsyncGenerator[bytes]:
        """Yield what the client gets for a message."""
        if asked.method == "initialize":
            self._handshake = asked
        if not self._alone and asked.method in _JOINED and "cursor" not in (asked.params or {}):
            way = self._joined(asked)
        elif self._alone or await self._is_ours(asked):
            way = self._here(asked)
        else:
            way = self._there(asked)
        async for text in way:
            yield text

    async def _there(self, asked: Raw) -> AsyncGenerator[bytes]:
        """Ask the background server, and say so if it ends before it answers."""
        answered = False
        try:
            async for text in self._asked(asked):
                answered = answered or Raw.of(text).answers
                yield text
        except JuntoError as error:
            self._goes_alone(error)
            async for text in self._here(asked):
                yield text
            return
        except (aiohttp.ClientError, OSError):
            pass
        if asked.asks and not answered:
            yield failure(asked, _ENDED)

    def _goes_alone(self, error: JuntoError) -> None:
        if not self._alone:
            self._alone = True
            self.say(f"{error.message}\nThis process serves alone, without a background server.")

    async def _asked(self, asked: Raw) -> AsyncGenerator[bytes]:
        try:
            upstream = await self._reached(asked)
            async for text in upstream.exchange(asked):
                yield text
        except aiohttp.ClientConnectorError:
            # Nothing was sent: it is about to end, or has just ended. The next one gets it.
            upstream = await self._reached(asked, anew=True)
            async for text in upstream.exchange(asked):
                yield text

    async def _reached(self, asked: Raw, *, anew: bool = False) -> Upstream:
        """Return the background server, which knows the client's handshake."""
        upstream = await self.reach(anew=anew)
        async with self._greeting:
            if upstream is not self._upstream:
                if self._handshake and asked.method != "initialize":
                    await upstream.greet(self._handshake)
                self._upstream = upstream
        return upstream

    async def _built(self, asked: Raw) -> Beside:
        """Return the server in this process, which knows the client's handshake."""
        if self._beside is None:
            self._beside = asyncio.create_task(self._build(asked))
        # A call that is cancelled meanwhile must not leave half a server behind.
        return await asyncio.shield(self._beside)

    async def _build(self, asked: Raw) -> Beside:
        server = await self.build()
        if self._handshake and asked.method != "initialize":
            await server.greet(self._handshake)
        return server

    async def _here(self, asked: Raw) -> AsyncGenerator[bytes]:
        """Ask the server in this process."""
        try:
            server = await self._built(asked)
        except JuntoError as error:
            if asked.asks:
                yield failure(asked, error.message)
            return
        async for text in server.exchange(asked):
            yield text

    async def _joined(self, asked: Raw) -> AsyncGenerator[bytes]:
        """Yield a list that has the entries of both."""
        texts = [text async for text in self._there(asked)]
        answer = orjson.loads(texts.pop()) if texts else {}
        if not self._alone and "result" in answer:
            entries, name = _JOINED[asked.method]
            known = {entry[name] for entry in answer["result"][entries]}
            async for text in self._here(asked):
                ours = orjson.loads(text).get("result", {}).get(entries, ())
                answer["result"][entries] += [each for each in ours if each[name] not in known]
        for text in texts:
            yield text
        yield orjson.dumps(answer)

    async def _is_ours(self, asked: Raw) -> bool:
        """Tell whether a message is for the server in this process."""
        if asked.answers:
            return self._beside is not None and asked.key in (await self._built(asked)).asked
        if asked.method == "resources/read":
            return asked.word("uri").startswith("file:")
        if asked.method != "tools/call":
            return False
        try:
            names = await (await self._reached(asked)).learn()
        except (JuntoError, aiohttp.ClientError, OSError):
            return False  # whoever asks next says what is wrong
        return _snake(asked.word("name")) not in names


def _snake(name: str) -> str:
    """Return a tool's name as it is listed; calls may spell it in camelCase."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
