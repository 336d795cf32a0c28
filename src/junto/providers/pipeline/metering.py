"""What an answer has taken so far, also if it breaks off or nobody counts."""

from dataclasses import dataclass, field

from junto.domain.estimates import CHARACTERS_PER_TOKEN, question_tokens
from junto.domain.questions import (
    Event,
    Finished,
    Question,
    TextDelta,
    ThinkingDelta,
    ToolCallMade,
    Usage,
)


@dataclass(slots=True)
class Meter:
    """Hears all that is said in answer to a question."""

    question: Question
    answered: bool = field(default=False, init=False)
    _heard: int = field(default=0, init=False)
    _used: Usage | None = field(default=None, init=False)

    def hears(self, event: Event) -> None:
        """Take note of one event."""
        if isinstance(event, TextDelta | ThinkingDelta):
            self._heard += len(event.text)
        elif isinstance(event, ToolCallMade):
            self._heard += len(event.call.name) + len(str(event.call.arguments))
        elif isinstance(event, Finished):
            self.answered, self._used = True, event.answer.usage

    @property
    def begun(self) -> bool:
        """Return whether the model has said anything, which is what costs."""
        return self.answered or self._heard > 0

    @property
    def usage(self) -> Usage:
        """Return what it took, as the provider counts it.

        An answer that broke off after it had begun, or whose provider does not count, has taken
        something too, about this much.
        """
        used = self._used or Usage()
        if self._heard and not used.output_tokens:
            asked = question_tokens(self.question) - self.question.max_tokens
            spoken = self._heard // CHARACTERS_PER_TOKEN + 1
            return Usage(input_tokens=asked, output_tokens=spoken)
        return used
