"""Embeddings from a provider, through an OpenAI-compatible endpoint."""

import asyncio
import math
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from junto.domain.completions import Usage, clamp_token_count
from junto.domain.documents import Embedder, EmbeddingModel
from junto.domain.errors import (
    AuthenticationError,
    ContextOverflowError,
    JuntoError,
    ModelError,
    NotFoundError,
)
from junto.domain.usage import RequestOrigin
from junto.providers.codecs.openai import OpenAiCodec
from junto.providers.embeddings.from_settings import EmbeddingModelSpec
from junto.providers.embeddings.middleware import prepare_text
from junto.providers.http.client import HttpClient, Timeouts
from junto.providers.http.endpoints import build_embedding_endpoint
from junto.providers.middleware.circuit import Circuit
from junto.providers.middleware.retry import compute_backoff, compute_retry_delay
from junto.telemetry.logs import Log
from junto.telemetry.usage_recorder import UsageRecorder

_log = Log.get("providers")

# A response has about 60 kB per text, and decoding it blocks the event loop.
_MAX_BATCH_TEXTS = 32
_MAX_BATCH_CHARS = 64_000
# About what the largest context windows accept; halved when a model rejects it.
_MAX_TEXT_CHARS, _MIN_TEXT_CHARS = 8000, 500
# Most providers reject an empty text.
_EMPTY_TEXT_PLACEHOLDER = "."
# Embeddings belong to no single caller: most are computed in the background, for everybody.
_USAGE_ORIGIN = RequestOrigin(tool="embeddings")


@asynccontextmanager
async def open_remote_embedder(
    model_spec: EmbeddingModelSpec,
    timeouts: Timeouts,
    max_retries: int,
    circuit: Circuit,
    usage_recorder: UsageRecorder,
) -> AsyncIterator[Embedder]:
    """Open an embedder for a provider's model, and close it on exit."""
    async with HttpClient.open() as client:
        yield RemoteEmbedder(model_spec, client, timeouts, max_retries, circuit, usage_recorder)


@dataclass(eq=False, slots=True)
class RemoteEmbedder(Embedder):
    """A provider's embedding model; its first response determines the dimension."""

    model_spec: EmbeddingModelSpec
    client: HttpClient
    timeouts: Timeouts
    max_retries: int
    circuit: Circuit
    usage_recorder: UsageRecorder = field(default_factory=UsageRecorder)
    backoff: Callable[[int], float] = compute_backoff
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _dimension: int | None = field(default=None, init=False)

    @override
    async def model(self) -> EmbeddingModel:
        if self._dimension is None:
            (vector,) = await self.embed([_EMPTY_TEXT_PLACEHOLDER])
            return EmbeddingModel(self.model_spec.name, len(vector) // 4)
        return EmbeddingModel(self.model_spec.name, self._dimension)

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        vectors: list[bytes] = []
        for batch in _split_batches(texts):
            vectors += await self._embed_truncated(batch, _MAX_TEXT_CHARS)
        return tuple(vectors)

    async def _embed_truncated(self, texts: Sequence[str], max_chars: int) -> list[bytes]:
        """Embed up to `max_chars` characters of each text, or fewer if the model rejects that."""
        truncated = [prepare_text(text, max_chars) for text in texts]
        try:
            return await self._request_with_retries(
                [text if text.strip() else _EMPTY_TEXT_PLACEHOLDER for text in truncated]
            )
        except ContextOverflowError:
            if max_chars <= _MIN_TEXT_CHARS:
                raise
        return await self._embed_truncated(texts, max_chars // 2)

    async def _request_with_retries(self, texts: list[str]) -> list[bytes]:
        with self.circuit.track():
            attempt = 0
            while True:
                try:
                    return await self._request(texts)
                except JuntoError as error:
                    delay = compute_retry_delay(error, attempt, self.max_retries, self.backoff)
                    if delay is None:
                        raise self._explain_error(error) from None
                    _log.info("asking again", model=self.model_spec.name, code=error.code)
                await self.sleep(delay)
                attempt += 1

    async def _request(self, texts: list[str]) -> list[bytes]:
        route = self.model_spec.route
        body = {"model": route.model, "input": texts}
        codec = OpenAiCodec(route.provider)
        response = await self.client.post_json(
            build_embedding_endpoint(route), body, codec, self.timeouts
        )
        try:
            vectors = [
                _normalize_vector(values) for values in _sort_embeddings(response, len(texts))
            ]
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            raise ModelError(
                f"{route.provider} sent no vectors that can be used.", retryable=True
            ) from None
        self._check_dimension(vectors)
        self._record_usage(response)
        return vectors

    def _record_usage(self, response: Any) -> None:
        """Record the tokens if the provider reports them; the cost is not known."""
        reported = response.get("usage") or {}
        tokens = reported.get("prompt_tokens") if isinstance(reported, dict) else None
        usage = Usage(input_tokens=clamp_token_count(tokens))
        route = self.model_spec.route
        self.usage_recorder.record_model_call(
            _USAGE_ORIGIN, (route.provider, route.model), usage, None, answered=True
        )

    def _check_dimension(self, vectors: list[bytes]) -> None:
        dimensions = {len(vector) // 4 for vector in vectors}
        if self._dimension is None and len(dimensions) == 1:
            (self._dimension,) = dimensions
        if dimensions != {self._dimension}:
            raise ModelError(
                f"{self.model_spec.name} makes vectors of different lengths. "
                "Set knowledge.embeddings to another model."
            )

    def _explain_error(self, error: JuntoError) -> JuntoError:
        """Return an error that names the setting to check."""
        match error:
            case AuthenticationError():
                return AuthenticationError(
                    f"{error.message} knowledge.embeddings uses {self.model_spec.key_setting}."
                )
            case NotFoundError():
                route = self.model_spec.route
                return NotFoundError(
                    f"{route.provider} has no model {route.model} that makes vectors. Check "
                    "knowledge.embeddings."
                )
            case _:
                return error


def _split_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        length = min(len(text), _MAX_TEXT_CHARS)
        if batch and (len(batch) == _MAX_BATCH_TEXTS or size + length > _MAX_BATCH_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _sort_embeddings(response: Any, count: int) -> list[Any]:
    """Return the embedding of each text, by its index or, without one, by its position."""
    by_index = {
        item.get("index", position): item["embedding"]
        for position, item in enumerate(response["data"])
    }
    if len(response["data"]) != count:
        raise ValueError("not as many as were asked for")
    return [by_index[position] for position in range(count)]


def _normalize_vector(values: Any) -> bytes:
    """Return the vector, normalized to unit length."""
    length = math.hypot(*values)
    if not 0 < length < math.inf:
        raise ValueError("no direction")
    return struct.pack(f"<{len(values)}f", *[value / length for value in values])
