"""What a model says and does while it answers, told to the job that waits for it."""

from dataclasses import dataclass, field

from junto.conversation.service import Asked
from junto.domain.estimates import CHARACTERS_PER_TOKEN
from junto.domain.questions import Event, TextDelta, ThinkingDelta, Waiting
from junto.jobs.running import Running


@dataclass(slots=True)
class Narrator:
    """Passes on the words of an answer, and what they take as far as can be guessed meanwhile."""

    job: Running
    _asked: int = field(default=0, init=False)
    _heard: int = field(default=0, init=False)

    def hears(self, event: Event | Asked) -> None:
        """Pass on one event."""
        match event:
            case TextDelta(text):
                self.job.says(text)
                self._heard += len(text)
            case ThinkingDelta(text):
                self.job.notes("thinking")
                self._heard += len(text)
            case Waiting(reason, done, total):
                share = f" ({done / total:.0%})" if done and total else ""
                self.job.notes(f"{reason}{share}")
            case Asked(tokens):
                self._asked = tokens

    def estimate(self) -> dict[str, int | bool]:
        """Return about what was used, for an answer that broke off before anybody counted."""
        heard = -(-self._heard // CHARACTERS_PER_TOKEN)
        return {"inputTokens": self._asked, "outputTokens": heard, "estimated": True}
