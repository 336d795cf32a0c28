"""The publish/subscribe protocol between servers, which saves them waiting for the next poll."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

PubSubMessage = Mapping[str, Any]


class PubSub(Protocol):
    """A channel for short messages between servers. Messages may get lost: callers also poll."""

    async def publish(self, message: PubSubMessage) -> None:
        """Send a message to all servers, including this one."""
        ...

    def subscribe(
        self, on_message: Callable[[PubSubMessage], None]
    ) -> AbstractAsyncContextManager[None]:
        """Call `on_message` with every message until the context exits."""
        ...
