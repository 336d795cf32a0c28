"""A provider that does what it is told, and a clock that only moves when it is told."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.messages import Message
from junto.domain.questions import Answer, Event, Finished, Question, StopReason, TextDelta, Usage
from junto.providers.provider import Provider

QUESTION = Question(model="m", messages=(Message.user("Hi"),), max_tokens=10)


def finished(text: str = "ok", tokens: int = 5) -> Finished:
    usage = Usage(input_tokens=tokens, output_tokens=tokens)
    message = Message.assistant(text)
    return Finished(Answer(message=message, stop=StopReason.END, usage=usage, model="m"))


OK: tuple[Event, ...] = (TextDelta("ok"), finished())


@dataclass
class Scripted(Provider):
    """Plays one run after another; an exception in a run is raised there, the last run stays."""

    runs: list[tuple[Event | Exception, ...]]
    asked: list[Question] = field(default_factory=list)

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        run = self.runs[min(len(self.asked), len(self.runs) - 1)]
        self.asked.append(question)
        for event in run:
            if isinstance(event, Exception):
                raise event
            await asyncio.sleep(0)
            yield event


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    time: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)
