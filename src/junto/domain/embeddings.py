"""Texts as vectors: what turns one into the other."""

from collections.abc import Sequence
from typing import Protocol

from junto.domain.documents import Model


class Embedder(Protocol):
    """Turns texts into vectors that are near each other where the texts mean the same."""

    async def model(self) -> Model:
        """Return which model it is and how long its vectors are, which may take a first call.

        Raises:
            JuntoError: it cannot be had; the message says what to do.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """Return the vector of each text: numbers of four bytes, little end first, of length one.

        Raises:
            JuntoError: it could not be done.
        """
        ...
