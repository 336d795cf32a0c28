"""The provider for models that are called over HTTP."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from junto.domain.completions import Event, Question
from junto.domain.errors import ModelError
from junto.domain.models import Capabilities
from junto.providers.answer_cap import AnswerCap
from junto.providers.codecs.codec import Codec, StreamDecoder
from junto.providers.http.client import Endpoint, HttpClient, Timeouts
from junto.providers.provider import Provider


@dataclass(frozen=True, slots=True)
class HttpProvider(Provider):
    """A model behind an HTTP endpoint, called through a codec."""

    codec: Codec
    endpoint: Endpoint
    capabilities: Capabilities
    client: HttpClient
    timeouts: Timeouts
    max_answer_chars: int | None = None

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        body = self.codec.encode(question, self.capabilities)
        decoder = self.codec.create_decoder(question)
        cap = AnswerCap.for_question(question, self.max_answer_chars)
        events = self.client.stream_events(
            self.endpoint, body, self.codec, self.timeouts, cap.max_stream_bytes
        )
        async with aclosing(events):
            async for data in events:
                for event in cap.apply(self._decode(decoder, data), question.model):
                    yield event
                if cap.is_reached:
                    return
        for event in self._decode(decoder, None):
            yield event

    def _decode(self, decoder: StreamDecoder, data: Mapping[str, Any] | None) -> list[Event]:
        """Decode one event, or finish the stream if `data` is None.

        Raises:
            ModelError: the provider sent malformed data.
        """
        try:
            return list(decoder.finish() if data is None else decoder.feed(data))
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError):
            raise ModelError(
                f"{self.endpoint.provider} sent an answer that makes no sense.", retryable=True
            ) from None
