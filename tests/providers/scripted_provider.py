"""A provider that plays a script, and a clock that moves only when told to."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from typing_extensions import override

from junto.domain.completions import (
    Answer,
    AnswerEvent,
    Event,
    Question,
    StopReason,
    TextDelta,
    Usage,
)
from junto.domain.messages import Message
from junto.providers.provider import Provider
from tests.event_loop import yield_to_tasks

QUESTION = Question(model="m", messages=(Message.user("Hi"),), max_tokens=10)


def build_answer_event(text: str = "ok", tokens: int = 5) -> AnswerEvent:
    usage = Usage(input_tokens=tokens, output_tokens=tokens)
    message = Message.assistant(text)
    return AnswerEvent(Answer(message=message, stop_reason=StopReason.END, usage=usage, model="m"))


OK: tuple[Event, ...] = (TextDelta("ok"), build_answer_event())


@dataclass
class ScriptedProvider(Provider):
    """Plays one run per call; exceptions in a run are raised in place, and the last run repeats."""

    runs: list[tuple[Event | Exception, ...]]
    asked: list[Question] = field(default_factory=list)

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        run = self.runs[min(len(self.asked), len(self.runs) - 1)]
        self.asked.append(question)
        for event in run:
            if isinstance(event, Exception):
                raise event
            await yield_to_tasks()
            yield event


@dataclass
class FakeClock:
    """A clock that advances only by the seconds passed to `sleep`."""

    time: float = 1000.0
    sleeps: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds
        await yield_to_tasks()
