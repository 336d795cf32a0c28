"""Wrappers around embedders, to open them lazily and to redact errors; text preparation."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.documents import Embedder, EmbeddingModel
from junto.domain.errors import JuntoError
from junto.runtime.lazy import Lazy

_RETRY_DELAY_SECONDS = 300.0


class LazyEmbedder(Embedder):
    """An embedder that is opened on first use, and closed when it has been idle for a while.

    After a failure, opening is not retried for some minutes, so that not every search waits for a
    failing download.
    """

    def __init__(
        self,
        factory: Callable[[], AbstractAsyncContextManager[Embedder]],
        known_model: EmbeddingModel | None = None,
        idle_seconds: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what opens the embedder, and its model if that is known before opening."""
        self.known_model = known_model
        self._inner = Lazy(
            factory, idle_seconds=idle_seconds, failure_seconds=_RETRY_DELAY_SECONDS, now=now
        )

    @override
    async def model(self) -> EmbeddingModel:
        if self.known_model:
            return self.known_model
        async with self._inner.use() as inner:
            return await inner.model()

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        if not texts:
            return ()
        async with self._inner.use() as inner:
            return await inner.embed(texts)

    async def close(self) -> None:
        """Close the embedder; the next use opens it again."""
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class RedactingEmbedder(Embedder):
    """An embedder that removes secrets from the error messages of the inner one."""

    inner: Embedder
    redact: Callable[[str], str]

    @override
    async def model(self) -> EmbeddingModel:
        with self._redact_errors():
            return await self.inner.model()

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        with self._redact_errors():
            return await self.inner.embed(texts)

    @contextlib.contextmanager
    def _redact_errors(self) -> Iterator[None]:
        try:
            yield
        except JuntoError as error:
            error.message = self.redact(error.message)
            error.args = (error.message,)
            raise


def prepare_text(text: str, max_chars: int) -> str:
    """Return the first `max_chars` characters of a text, with lone surrogates replaced.

    Text that was cut carelessly may end in a lone surrogate, which neither UTF-8 nor tokenizers
    accept.
    """
    return text[:max_chars].encode("utf-8", "replace").decode()
