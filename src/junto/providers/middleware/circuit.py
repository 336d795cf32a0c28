"""A circuit breaker: a provider that fails repeatedly is not called for a while."""

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.completions import Event, Question, StatusEvent
from junto.domain.errors import NetworkError, TimeLimitError
from junto.providers.provider import Provider


@dataclass(slots=True)
class Circuit:
    """A counter of consecutive failures, shared by all models on one server."""

    provider: str
    failure_threshold: int = 5
    cooldown_seconds: float = 30
    now: Callable[[], float] = time.monotonic
    _failures: int = field(default=0, init=False)
    _opened_at: float | None = field(default=None, init=False)

    def check(self) -> None:
        """Let a call through; after the cooldown, only one that tests whether the provider is back.

        Raises:
            NetworkError: the circuit is open.
        """
        if self._opened_at is None:
            return
        remaining = self._opened_at + self.cooldown_seconds - self.now()
        if remaining > 0:
            raise NetworkError(
                f"{self.provider} has failed {self._failures} times in a row and is left alone "
                f"for another {remaining:.0f} s. Ask another model, or wait.",
                retry_after=remaining,
            )
        self._opened_at = self.now()  # later calls wait for the outcome of this one

    def record_success(self) -> None:
        """Record that the provider answered."""
        self._failures, self._opened_at = 0, None

    def record_inconclusive(self) -> None:
        """Record that a call ended without a result, so that another may be tried."""
        if self._opened_at is not None:
            self._opened_at = self.now() - self.cooldown_seconds

    def record_failure(self) -> None:
        """Record that the provider failed."""
        self._failures += 1
        if self._failures >= self.failure_threshold:
            self._opened_at = self.now()

    @contextmanager
    def track(self) -> Iterator[None]:
        """Let the block through, and record how it ends.

        Raises:
            NetworkError: the circuit is open.
        """
        self.check()
        try:
            yield
        except (NetworkError, TimeLimitError):
            self.record_failure()
            raise
        except BaseException:
            self.record_inconclusive()
            raise
        self.record_success()


@dataclass(frozen=True, slots=True)
class CircuitBreaker(Provider):
    """A provider that asks only while the circuit is closed.

    Only failures of the provider itself count; a rejected question does not.
    """

    inner: Provider
    circuit: Circuit

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        self.circuit.check()
        has_answered = False
        try:
            async with aclosing(self.inner.stream(question)) as events:
                async for event in events:
                    if not has_answered and not isinstance(event, StatusEvent):
                        has_answered = True
                        self.circuit.record_success()
                    yield event
        except (NetworkError, TimeLimitError):
            self.circuit.record_failure()
            raise
        except BaseException:
            if not has_answered:
                self.circuit.record_inconclusive()
            raise
