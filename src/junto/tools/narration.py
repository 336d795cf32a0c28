"""Telling a client what a model says while it says it, without flooding it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from junto.domain.questions import Event, TextDelta, ThinkingDelta, Waiting
from junto.tools.tool import Call

# At most twenty notices a second; what comes in between goes out with the next one.
_PAUSE = 0.05


@dataclass(slots=True)
class Narrator:
    """Passes on the words of an answer as progress; the last ones come with the result."""

    call: Call
    now: Callable[[], float] = time.monotonic
    _held: list[str] = field(default_factory=list, init=False)
    _told: float = field(default=0.0, init=False)
    _steps: int = field(default=0, init=False)

    async def hears(self, event: Event) -> None:
        """Pass on what is new, if it is time."""
        match event:
            case TextDelta(text):
                self._held.append(text)
                if self._is_time():
                    await self.ends()
            case ThinkingDelta():
                await self._notice("thinking")
            case Waiting(reason, done, total):
                share = f" ({done / total:.0%})" if done and total else ""
                await self._notice(f"{reason}{share}")

    async def ends(self) -> None:
        """Pass on the words that are left."""
        if self._held:
            words, self._held = "".join(self._held), []
            await self._tell(words)

    async def _notice(self, text: str) -> None:
        if self._is_time():  # the next one says the same, or more
            await self._tell(f"{text} …")

    def _is_time(self) -> bool:
        return self.now() - self._told >= _PAUSE

    async def _tell(self, message: str) -> None:
        self._steps += 1
        self._told = self.now()
        await self.call.progress(self._steps, message=message)
