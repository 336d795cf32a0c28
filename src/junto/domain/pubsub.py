"""Telling other servers at once what they would otherwise notice later."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

Signal = Mapping[str, Any]


class Signals(Protocol):
    """Carries short messages between servers; one may get lost, so nothing depends on it alone."""

    async def send(self, signal: Signal) -> None:
        """Tell all servers, this one included."""
        ...

    def heard(self, listener: Callable[[Signal], None]) -> AbstractAsyncContextManager[None]:
        """Call `listener` with every signal until the end of the block."""
        ...
