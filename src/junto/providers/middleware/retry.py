"""Asking again when a model could not answer, and asking another when it cannot."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from typing_extensions import override

from junto.domain.errors import JuntoError, NoRoomError
from junto.domain.questions import Event, Question, Waiting
from junto.providers.provider import Provider
from junto.telemetry.logs import Log

_log = Log.of("providers")
_LONGEST_WAIT = 60.0


def backoff(attempt: int, chance: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait before try `attempt` + 2: doubling, and never all at once."""
    return min(_LONGEST_WAIT, 2.0**attempt) * (0.5 + chance() / 2)


def pause_after(
    error: JuntoError, attempt: int, retries: int, wait: Callable[[int], float] = backoff
) -> float | None:
    """Return the seconds to wait before asking again, or None where that is of no use."""
    if isinstance(error, NoRoomError) or not error.retryable or attempt >= retries:
        return None  # where there was no room, it has waited already
    pause = max(wait(attempt), error.retry_after or 0)
    return pause if pause <= _LONGEST_WAIT else None


@dataclass(frozen=True, slots=True)
class Retrying(Provider):
    """Ask again after a passing failure, as long as nothing of the answer has gone up yet."""

    inner: Provider
    retries: int
    wait: Callable[[int], float] = backoff
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        for attempt in range(self.retries + 1):
            started = False
            try:
                async with aclosing(self.inner.stream(question)) as events:
                    async for event in events:
                        started = started or not isinstance(event, Waiting)
                        yield event
            except JuntoError as error:
                pause = pause_after(error, attempt, self.retries, self.wait)
                if started or pause is None:
                    raise
                _log.info("asking again", model=question.model, code=error.code, seconds=pause)
            else:
                return
            yield Waiting(f"asking {question.model} again in {pause:.0f} s")
            await self.sleep(pause)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A model to ask: its id, who answers for it, and its name on the wire."""

    id: str
    provider: Provider
    model: str

    def stream(self, question: Question) -> AsyncGenerator[Event]:
        """Ask it, under its own name."""
        return self.provider.stream(replace(question, model=self.model))


@dataclass(frozen=True, slots=True)
class Falling(Provider):
    """Ask the next model when one cannot answer, as long as nothing of an answer has gone up."""

    choices: Sequence[Alternative]

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        if len(self.choices) == 1:
            return self.choices[0].stream(question)
        return self._fallen(question)

    async def _fallen(self, question: Question) -> AsyncGenerator[Event]:
        for choice in self.choices:
            started = False
            try:
                async with aclosing(choice.stream(question)) as events:
                    async for event in events:
                        started = started or not isinstance(event, Waiting)
                        yield event
            except JuntoError as error:
                if started or not error.retryable or choice is self.choices[-1]:
                    raise
                _log.warning("asking another model", instead_of=choice.id, code=error.code)
                yield Waiting(f"{choice.id} cannot answer; asking another model")
            else:
                return
