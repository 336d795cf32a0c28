"""A cap on the size of answers, for providers that ignore `max_tokens`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from junto.domain.completions import (
    Answer,
    AnswerEvent,
    Event,
    Question,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from junto.domain.messages import Message, Role, TextPart

# Far more than any tokenizer needs: most tokens have one to eight characters.
_CHARS_PER_TOKEN = 64
_MIN_CHARS, _MAX_CHARS = 256 * 1024, 16 * 1024 * 1024
# The protocol around a token takes a few hundred bytes.
_STREAM_BYTES_PER_CHAR = 16
_MIN_STREAM_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class AnswerCap:
    """The text of one answer so far, and how long it may become."""

    max_chars: int
    is_reached: bool = field(default=False, init=False)
    _size: int = field(default=0, init=False)
    _texts: list[str] = field(default_factory=list, init=False)

    @classmethod
    def for_question(cls, question: Question, max_chars: int | None) -> "AnswerCap":
        """Return the cap for the answer to a question; by default it follows from its tokens."""
        derived = max(_MIN_CHARS, question.max_tokens * _CHARS_PER_TOKEN)
        return cls(min(max_chars or derived, _MAX_CHARS))

    @property
    def max_stream_bytes(self) -> int:
        """How much a provider may send for such an answer, the protocol around it included."""
        return _MIN_STREAM_BYTES + _STREAM_BYTES_PER_CHAR * self.max_chars

    def apply(self, events: Iterable[Event], model: str) -> Iterator[Event]:
        """Yield the events up to the cap, and then an answer that was cut there."""
        for event in events:
            if not isinstance(event, TextDelta | ThinkingDelta):
                yield event
                continue
            kept = self._shorten(event)
            if isinstance(kept, TextDelta):
                self._texts.append(kept.text)
            yield kept
            if self.is_reached:
                yield AnswerEvent(self._build_answer(model))
                return

    def _shorten(self, event: TextDelta | ThinkingDelta) -> TextDelta | ThinkingDelta:
        remaining = self.max_chars - self._size
        self._size += len(event.text)
        if self._size < self.max_chars:
            return event
        self.is_reached = True
        return replace(event, text=event.text[:remaining])

    def _build_answer(self, model: str) -> Answer:
        # The provider has not said what it costs, so usage is estimated from the text.
        message = Message(Role.ASSISTANT, (TextPart("".join(self._texts)),))
        return Answer(message=message, stop_reason=StopReason.LENGTH, usage=Usage(), model=model)
