"""A provider: something that answers questions, one event at a time."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from junto.domain.errors import ModelError
from junto.domain.questions import Answer, Event, Finished, Question


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
