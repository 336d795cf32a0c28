"""The model that needs no key and no network: an engine in a process beside us."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from junto.domain.models import Capabilities
from junto.domain.questions import Event, Question, Waiting
from junto.providers.dialects.openai import OpenAiCodec
from junto.providers.embedded.engine import Engine
from junto.providers.embedded.weights import Weights
from junto.providers.provider import Provider
from junto.providers.wiring.adapter import Adapter
from junto.providers.wiring.wire import Endpoint, Patience, Wire

NAME = "embedded"
# A socket leads there, whatever the address says.
_URL = "http://embedded/v1/chat/completions"


@dataclass(eq=False, slots=True)
class Embedded(Provider):
    """Speaks to the engine as to any other server, and keeps it running meanwhile."""

    weights: Weights
    engine_of: Callable[[Path], Engine]
    capabilities: Capabilities
    patience: Patience
    stack: AsyncExitStack  # lets go of the engine in the end
    _opened: tuple[Engine, Wire] | None = field(default=None, init=False)

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        async with aclosing(self.weights.fetch()) as news:
            async for waiting in news:
                yield waiting
        engine, wire = await self._open()
        if not engine.answers():
            yield Waiting("starting the embedded engine")
        async with engine.in_use() as key:
            endpoint = Endpoint(provider=NAME, url=_URL, headers={"authorization": f"Bearer {key}"})
            adapter = Adapter(OpenAiCodec(NAME), endpoint, self.capabilities, wire, self.patience)
            async with aclosing(adapter.stream(question)) as events:
                async for event in events:
                    yield event

    async def _open(self) -> tuple[Engine, Wire]:
        if self._opened is None:
            engine = self.engine_of(self.weights.path)
            self.stack.callback(engine.leave)
            wire = await self.stack.enter_async_context(Wire.opened(socket=engine.address))
            self._opened = (engine, wire)
        return self._opened
