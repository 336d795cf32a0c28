"""The provider for the embedded model, which runs in an engine process on this machine."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from junto.domain.completions import Event, Question, StatusEvent
from junto.domain.models import Capabilities
from junto.providers.codecs.openai import OpenAiCodec
from junto.providers.http.client import Endpoint, HttpClient, Timeouts
from junto.providers.http.provider import HttpProvider
from junto.providers.local.engine import Engine
from junto.providers.local.small_model import prepare_question
from junto.providers.local.weights import Weights
from junto.providers.provider import Provider

PROVIDER_NAME = "embedded"
# The host is ignored, since the client connects to a socket.
_CHAT_URL = "http://embedded/v1/chat/completions"


@dataclass(eq=False, slots=True)
class LocalProvider(Provider):
    """A provider that fetches the weights, starts the engine, and calls it over HTTP."""

    weights: Weights
    build_engine: Callable[[Path], Engine]
    capabilities: Capabilities
    timeouts: Timeouts
    stack: AsyncExitStack  # releases the engine on exit
    _connection: tuple[Engine, HttpClient] | None = field(default=None, init=False)

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        async with aclosing(self.weights.fetch()) as statuses:
            async for status in statuses:
                yield status
        if self.weights.is_bundled:
            question = prepare_question(question)
        engine, client = await self._open()
        if not engine.is_running():
            yield StatusEvent("starting the embedded engine")
        async with engine.use() as key:
            endpoint = Endpoint(
                provider=PROVIDER_NAME, url=_CHAT_URL, headers={"authorization": f"Bearer {key}"}
            )
            provider = HttpProvider(
                OpenAiCodec(PROVIDER_NAME), endpoint, self.capabilities, client, self.timeouts
            )
            async with aclosing(provider.stream(question)) as events:
                async for event in events:
                    yield event

    async def _open(self) -> tuple[Engine, HttpClient]:
        if self._connection is None:
            engine = self.build_engine(self.weights.path)
            self.stack.callback(engine.release)
            client = await self.stack.enter_async_context(
                HttpClient.open(socket_path=engine.socket_path)
            )
            self._connection = (engine, client)
        return self._connection
