"""Vectors from a provider, by an endpoint as OpenAI has it."""

import asyncio
import math
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from junto.domain.documents import Model
from junto.domain.embeddings import Embedder
from junto.domain.errors import (
    AuthenticationError,
    ContextOverflowError,
    JuntoError,
    ModelError,
    NotFoundError,
)
from junto.domain.questions import Usage, counted
from junto.domain.usage import Origin
from junto.providers.dialects.openai import OpenAiCodec
from junto.providers.embeddings.choosing import Choice
from junto.providers.embeddings.texts import presentable
from junto.providers.pipeline.circuit import Circuit
from junto.providers.pipeline.retry import backoff, pause_after
from junto.providers.wiring.endpoints import embedding_endpoint
from junto.providers.wiring.wire import Patience, Wire
from junto.telemetry.logs import Log
from junto.telemetry.usage import UsageBook

_log = Log.of("providers")

# What comes back is some 60 kB for each text, and decoding it keeps the loop busy.
_MOST_TEXTS = 32
_MOST_CHARACTERS = 64_000
# About what the widest windows take; if it is too much, halves of it are tried.
_LONGEST, _SHORTEST = 8000, 500
# Most refuse to make a vector of nothing.
_NOTHING = "."
# They are made for all together, mostly in the background.
_ORIGIN = Origin(tool="embeddings")


@asynccontextmanager
async def served(
    choice: Choice, patience: Patience, retries: int, circuit: Circuit, book: UsageBook
) -> AsyncIterator[Embedder]:
    """Open the way to a provider, and close it at the end of the block."""
    async with Wire.opened() as wire:
        yield Served(choice, wire, patience, retries, circuit, book)


@dataclass(eq=False, slots=True)
class Served(Embedder):
    """A provider's model; how long its vectors are is told by the first."""

    choice: Choice
    wire: Wire
    patience: Patience
    retries: int
    circuit: Circuit
    book: UsageBook = field(default_factory=UsageBook)
    wait: Callable[[int], float] = backoff
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _dimension: int | None = field(default=None, init=False)

    @override
    async def model(self) -> Model:
        if self._dimension is None:
            (vector,) = await self.embed([_NOTHING])
            return Model(self.choice.name, len(vector) // 4)
        return Model(self.choice.name, self._dimension)

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        vectors: list[bytes] = []
        for batch in _batches(texts):
            vectors += await self._shortened(batch, _LONGEST)
        return tuple(vectors)

    async def _shortened(self, texts: Sequence[str], longest: int) -> list[bytes]:
        """Return the vectors of texts of which the model takes as much as it can."""
        sent = [presentable(text, longest) for text in texts]
        try:
            return await self._asked([text if text.strip() else _NOTHING for text in sent])
        except ContextOverflowError:
            if longest <= _SHORTEST:
                raise
        return await self._shortened(texts, longest // 2)

    async def _asked(self, texts: list[str]) -> list[bytes]:
        with self.circuit.watching():
            attempt = 0
            while True:
                try:
                    return await self._answered(texts)
                except JuntoError as error:
                    pause = pause_after(error, attempt, self.retries, self.wait)
                    if pause is None:
                        raise self._explained(error) from None
                    _log.info("asking again", model=self.choice.name, code=error.code)
                await self.sleep(pause)
                attempt += 1

    async def _answered(self, texts: list[str]) -> list[bytes]:
        route = self.choice.route
        body = {"model": route.model, "input": texts}
        codec = OpenAiCodec(route.provider)
        said = await self.wire.post(embedding_endpoint(route), body, codec, self.patience)
        try:
            vectors = [_unit(numbers) for numbers in _in_order(said, len(texts))]
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            raise ModelError(
                f"{route.provider} sent no vectors that can be used.", retryable=True
            ) from None
        self._measure(vectors)
        self._noted(said)
        return vectors

    def _noted(self, said: Any) -> None:
        """Note what it took, if the provider tells; what that costs, it does not tell."""
        told = said.get("usage") or {}
        tokens = told.get("prompt_tokens") if isinstance(told, dict) else None
        usage = Usage(input_tokens=counted(tokens))
        route = self.choice.route
        self.book.model_asked(_ORIGIN, (route.provider, route.model), usage, None, answered=True)

    def _measure(self, vectors: list[bytes]) -> None:
        found = {len(vector) // 4 for vector in vectors}
        if self._dimension is None and len(found) == 1:
            (self._dimension,) = found
        if found != {self._dimension}:
            raise ModelError(
                f"{self.choice.name} makes vectors of different lengths. Set knowledge.embeddings "
                "to another model."
            )

    def _explained(self, error: JuntoError) -> JuntoError:
        """Return an error that says which setting is meant."""
        match error:
            case AuthenticationError():
                return AuthenticationError(
                    f"{error.message} knowledge.embeddings uses {self.choice.key_setting}."
                )
            case NotFoundError():
                route = self.choice.route
                return NotFoundError(
                    f"{route.provider} has no model {route.model} that makes vectors. Check "
                    "knowledge.embeddings."
                )
            case _:
                return error


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        length = min(len(text), _LONGEST)
        if batch and (len(batch) == _MOST_TEXTS or size + length > _MOST_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _in_order(said: Any, wanted: int) -> list[Any]:
    """Return what stands for each text, by its index; where there is none, by its place."""
    found = {item.get("index", place): item["embedding"] for place, item in enumerate(said["data"])}
    if len(said["data"]) != wanted:
        raise ValueError("not as many as were asked for")
    return [found[place] for place in range(wanted)]


def _unit(numbers: Any) -> bytes:
    """Return a vector of length one."""
    length = math.hypot(*numbers)
    if not 0 < length < math.inf:
        raise ValueError("no direction")
    return struct.pack(f"<{len(numbers)}f", *[number / length for number in numbers])
