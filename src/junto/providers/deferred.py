"""Opening what answers with the first question, since most starts never ask one."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.questions import Event, Question
from junto.providers.provider import Provider


@dataclass(eq=False, slots=True)
class Deferred(Provider):
    """A provider that does not exist before it is asked; `stack` closes it in the end."""

    opening: Callable[[], AbstractAsyncContextManager[Provider]]
    stack: AsyncExitStack
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _inner: Provider | None = field(default=None, init=False)

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        return self._inner.stream(question) if self._inner else self._first(question)

    async def _first(self, question: Question) -> AsyncGenerator[Event]:
        inner = await self._opened()
        async with aclosing(inner.stream(question)) as events:
            async for event in events:
                yield event

    async def _opened(self) -> Provider:
        async with self._one_at_a_time:
            if self._inner is None:
                self._inner = await self.stack.enter_async_context(self.opening())
            return self._inner
