"""A provider: something that answers questions, one event at a time."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from junto.domain.errors import ModelError
from junto.domain.models import Capabilities
from junto.domain.questions import Answer, Event, Finished, Question
from junto.providers.folding import Codec
from junto.providers.wire import Endpoint, Patience, Wire


class Provider(Protocol):
    """Answers questions."""

    def stream(self, question: Question) -> AsyncGenerator[Event]:
        """Yield the answer piece by piece; the last event is `Finished`.

        Raises:
            JuntoError: the model could not answer.
        """
        ...


async def ask(provider: Provider, question: Question) -> Answer:
    """Return the whole answer to `question`."""
    async with aclosing(provider.stream(question)) as events:
        async for event in events:
            if isinstance(event, Finished):
                return event.answer
    raise ModelError("The model said nothing.")


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
