"""Leaving a provider alone for a while after it has failed again and again."""

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.errors import NetworkError, TimeLimitError
from junto.domain.questions import Event, Question, Waiting
from junto.providers.provider import Provider


@dataclass(slots=True)
class Circuit:
    """Counts failures in a row; shared by all models of one provider."""

    provider: str
    threshold: int = 5
    cooldown: float = 30
    now: Callable[[], float] = time.monotonic
    _failures: int = field(default=0, init=False)
    _opened: float | None = field(default=None, init=False)

    def check(self) -> None:
        """Let a call through; after the cooldown, one to see whether the provider is back.

        Raises:
            NetworkError: the provider is being left alone.
        """
        if self._opened is None:
            return
        left = self._opened + self.cooldown - self.now()
        if left > 0:
            raise NetworkError(
                f"{self.provider} has failed {self._failures} times in a row and is left alone "
                f"for another {left:.0f} s. Ask another model, or wait.",
                retry_after=left,
            )
        self._opened = self.now()  # whoever comes next waits for the outcome of this one

    def succeeded(self) -> None:
        """Note that the provider answers."""
        self._failures, self._opened = 0, None

    def undecided(self) -> None:
        """Note that a call ended without telling anything; another may try."""
        if self._opened is not None:
            self._opened = self.now() - self.cooldown

    def failed(self) -> None:
        """Note that it does not."""
        self._failures += 1
        if self._failures >= self.threshold:
            self._opened = self.now()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Let what is asked in the block through, and note how it ends.

        Raises:
            NetworkError: the provider is being left alone.
        """
        self.check()
        try:
            yield
        except (NetworkError, TimeLimitError):
            self.failed()
            raise
        except BaseException:
            self.undecided()
            raise
        self.succeeded()


@dataclass(frozen=True, slots=True)
class Guarded(Provider):
    """Asks only while the circuit is closed.

    Only what says that the provider itself is in trouble counts; a refused question does not.
    """

    inner: Provider
    circuit: Circuit

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        self.circuit.check()
        well = False
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    if not well and not isinstance(event, Waiting):
                        well = True
                        self.circuit.succeeded()
                    yield event
        except (NetworkError, TimeLimitError):
            self.circuit.failed()
            raise
        except BaseException:
            if not well:
                self.circuit.undecided()
            raise
