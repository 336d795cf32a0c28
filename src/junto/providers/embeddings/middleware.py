"""An embedder whose failures can be told to anybody."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.documents import Model
from junto.domain.embeddings import Embedder
from junto.domain.errors import JuntoError


@dataclass(frozen=True, slots=True)
class Discreet(Embedder):
    """Takes secrets out of what the inner embedder says when it fails."""

    inner: Embedder
    redacted: Callable[[str], str]

    @override
    async def model(self) -> Model:
        with self._told():
            return await self.inner.model()

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        with self._told():
            return await self.inner.embed(texts)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except JuntoError as error:
            error.message = self.redacted(error.message)
            error.args = (error.message,)
            raise
