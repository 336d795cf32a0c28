"""The connected client's own model, where the client lends it: one more member of the council."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.errors import NotFoundError
from junto.domain.questions import Answer, Event, Finished, Question, TextDelta
from junto.providers.provider import Provider

Sampler = Callable[[Question], Awaitable[Answer]]

# Whoever works on a call finds here how to ask the model of the client that made it.
sampler: ContextVar[Sampler | None] = ContextVar("sampler", default=None)


@dataclass(frozen=True, slots=True)
class ClientModel(Provider):
    """Asks the client of the call under way."""

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        ask = sampler.get()
        if ask is None:
            raise NotFoundError("The connected client lends no model of its own.")
        answer = await ask(question)
        if answer.message.text:
            yield TextDelta(answer.message.text)
        yield Finished(answer)
