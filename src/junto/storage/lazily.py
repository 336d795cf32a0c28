"""Opening a database with the first use, since most starts need none."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Lazily(Generic[T]):
    """Something that is not open before it is asked for; `stack` closes it in the end."""

    opening: Callable[[], AbstractAsyncContextManager[T]]
    stack: AsyncExitStack
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _opened: list[T] = field(default_factory=list, init=False)

    async def __call__(self) -> T:
        """Return it, open; if that fails, the next who asks tries again."""
        if not self._opened:
            async with self._one_at_a_time:
                if not self._opened:
                    self._opened.append(await self.stack.enter_async_context(self.opening()))
        return self._opened[0]
