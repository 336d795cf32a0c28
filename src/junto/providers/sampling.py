"""The connected client's own model, reached through MCP sampling."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.completions import Answer, AnswerEvent, Event, Question, TextDelta
from junto.domain.errors import NotFoundError
from junto.providers.provider import Provider

Sampler = Callable[[Question], Awaitable[Answer]]

# Asks the model of the client that made the current call; None if the client has no sampling.
current_sampler: ContextVar[Sampler | None] = ContextVar("sampler", default=None)


@dataclass(frozen=True, slots=True)
class SamplingProvider(Provider):
    """A provider that asks the model of the client that made the current call."""

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        sampler = current_sampler.get()
        if sampler is None:
            raise NotFoundError("The connected client lends no model of its own.")
        answer = await sampler(question)
        if answer.message.text:
            yield TextDelta(answer.message.text)
        yield AnswerEvent(answer)
