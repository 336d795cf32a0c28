"""The provider protocol, and a provider that is opened on first use."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import Protocol

from typing_extensions import override

from junto.domain.completions import Answer, AnswerEvent, Event, Question
from junto.domain.errors import ModelError
from junto.runtime.lazy import Lazy


class Provider(Protocol):
    """A model, or a wrapper around one, that answers questions."""

    def stream(self, question: Question) -> AsyncGenerator[Event]:
        """Stream the answer; the last event is an `AnswerEvent`.

        Raises:
            JuntoError: the model could not answer.
        """
        ...


async def ask(provider: Provider, question: Question) -> Answer:
    """Return the complete answer to `question`.

    Raises:
        JuntoError: the model could not answer.
    """
    async with aclosing(provider.stream(question)) as events:
        async for event in events:
            if isinstance(event, AnswerEvent):
                return event.answer
    raise ModelError("The model said nothing.")


class LazyProvider(Provider):
    """A provider that is opened by its first question; `stack` closes it."""

    def __init__(
        self, factory: Callable[[], AbstractAsyncContextManager[Provider]], stack: AsyncExitStack
    ) -> None:
        self._inner = Lazy(factory, stack)

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        inner = self._inner.current
        return inner.stream(question) if inner else self._open_and_stream(question)

    async def _open_and_stream(self, question: Question) -> AsyncGenerator[Event]:
        inner = await self._inner()
        async with aclosing(inner.stream(question)) as events:
            async for event in events:
                yield event
