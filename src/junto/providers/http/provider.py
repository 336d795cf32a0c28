"""A provider that speaks a dialect over the wire."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from junto.domain.errors import ModelError
from junto.domain.models import Capabilities
from junto.domain.questions import Event, Question
from junto.providers.dialects.folding import Codec, Fold
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
                for event in self._understood(fold, data):
                    yield event
        for event in self._understood(fold, None):
            yield event

    def _understood(self, fold: Fold, data: Mapping[str, Any] | None) -> list[Event]:
        """Return what a fold makes of an event, which may be anything at all, or of the end."""
        try:
            return list(fold.ended() if data is None else fold.feed(data))
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError):
            raise ModelError(
                f"{self.endpoint.provider} sent an answer that makes no sense.", retryable=True
            ) from None
