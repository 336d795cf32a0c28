"""A provider that speaks a dialect over the wire."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.models import Capabilities
from junto.domain.questions import Event, Question
from junto.providers.dialects.folding import Codec
from junto.providers.provider import Provider
from junto.providers.wiring.wire import Endpoint, Patience, Wire


@dataclass(frozen=True, slots=True)
class Adapter(Provider):
    """One model behind one endpoint, spoken to in one dialect."""

    codec: Codec
    endpoint: Endpoint
    capabilities: Capabilities
    wire: Wire
    patience: Patience

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        body = self.codec.encode(question, self.capabilities)
        fold = self.codec.fold(question)
        events = self.wire.events(self.endpoint, body, self.codec, self.patience)
        async with aclosing(events):
            async for data in events:
                for event in fold.feed(data):
                    yield event
        for event in fold.ended():
            yield event
