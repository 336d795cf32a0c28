"""One run: the order goes in, what the program says goes out, and it ends when it should."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from junto.agent.course import Course, Message, texts
from junto.agent.summaries import doings
from junto.domain.errors import JuntoError
from junto.domain.sessions import Session
from junto.work.tasks import Stopped, begun, beside, unless

# How long the program may take to say how it was interrupted.
_INTERRUPT_SECONDS = 2.0
# So many failures in a row, with no message between them, are an end.
_MOST_BARREN = 100

Content = list[dict[str, Any]]


class Permission(StrEnum):
    """What whoever was asked has said."""

    ONCE = "once"
    ALWAYS = "always"
    DENIED = "denied"
    NOBODY = "nobody"  # could be asked


class Ending(StrEnum):
    """Why a run is over."""

    DONE = "done"
    STOPPED = "stopped"
    LATE = "late"
    TAKEN = "taken"  # by another server, which has the session now


@dataclass(eq=False, slots=True)
class Curfew:
    """Whether a run must end now, and why; the first reason counts."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    ending: Ending = Ending.DONE

    def falls(self, ending: Ending) -> None:
        """Have the run end."""
        if not self.stop.is_set():
            self.ending = ending
            self.stop.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What somebody wants done, and in which session."""

    owner: str
    content: Content
    session: str | None = None
    fork: bool = False
    # Whether it says itself where to work.
    moves: bool = False


class Voice(Protocol):
    """The way back to whoever gave the order."""

    def notes(self, note: str) -> None:
        """Say what is being done."""
        ...

    def says(self, words: str) -> None:
        """Pass on what the agent says."""
        ...

    def tells(self, facts: Mapping[str, Any]) -> None:
        """Pass on a message, whole."""
        ...

    def uses(self, usage: Mapping[str, Any]) -> None:
        """Say what it took so far."""
        ...

    def keeps(self, facts: Mapping[str, Any]) -> None:
        """Keep what there is of a run that was stopped."""
        ...

    async def permits(self, question: str, /) -> Permission:
        """Ask whether something may be done."""
        ...

    def listens(self, take: Callable[[str], None] | None) -> None:
        """Take further messages for the agent, or none any more."""
        ...


class Client(Protocol):
    """What of the SDK's client a run needs."""

    async def query(self, prompt: AsyncIterator[dict[str, Any]]) -> None:
        """Send messages of the user."""
        ...

    def receive_messages(self) -> AsyncIterator[Any]:
        """Yield messages until the program ends."""
        ...

    async def interrupt(self) -> None:
        """Have it stop what it does."""
        ...


@dataclass(eq=False, slots=True, kw_only=True)
class Run:
    """Drives the program through one order."""

    content: Content
    course: Course
    voice: Voice
    session: Session
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _ended: bool = field(default=False, init=False)

    def hears(self, message: Message) -> None:
        """Pass on what the program says."""
        told = self.course.hears(message)
        if told is not None:
            self._tell(told)
            if words := texts(told):
                self.voice.says(f"{words}\n")
            for note in doings(told, self.session.cwd):
                self.voice.notes(note)
        self._news.set()

    def fails(self, error: JuntoError) -> None:
        """Pass on why it did not do what it was asked."""
        why = {"type": "error", "error": error.message, "code": error.code}
        told = self.course.hears(why)
        if told is not None:
            self._tell(told, level="error")

    def _tell(self, message: Message, **more: str) -> None:
        self.voice.tells(
            {
                "type": "claude_code_message",
                "sessionId": self.session.id,
                "message": message,
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "sequence": self.course.count,
                **more,
            }
        )

    async def driven(self, client: Client, curfew: Curfew) -> Ending:
        """Give the order and wait until it is done, or must end."""
        async with beside(self._drained(client)):
            try:
                await unless(curfew.stop, self._answered(client))
            except Stopped:
                await self._interrupted(client)
            finally:
                self.voice.listens(None)
        return curfew.ending

    async def _answered(self, client: Client) -> None:
        """Give the order, and wait until all is answered or the program has ended."""
        await self._say(client, self.content, self._expected())
        self.voice.listens(lambda text: self._hand_on(client, text))
        while not (self.course.over or self._ended):
            self._news.clear()
            await self._news.wait()

    async def _drained(self, client: Client) -> None:
        """Take what the SDK has parsed until the program ends; all of it was heard before."""
        barren = 0
        while barren < _MOST_BARREN:
            barren += 1
            # What it cannot parse is no reason to stop; an end is told as an error, and then ends.
            with contextlib.suppress(Exception):
                async for _ in client.receive_messages():
                    barren = 0
                break
        self._ended = True
        self._news.set()

    async def _interrupted(self, client: Client) -> None:
        """Have it stop, and hear what it has used until then; soon, or not at all."""
        before = self.course.results
        with contextlib.suppress(Exception):  # it is ended in any case
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                await client.interrupt()
                while self.course.results == before and not self._ended:
                    self._news.clear()
                    await self._news.wait()

    def _hand_on(self, client: Client, text: str) -> None:
        begun(self._say(client, [{"type": "text", "text": text}], self._expected()))

    def _expected(self) -> str:
        identity = str(uuid.uuid4())
        self.course.expects(identity)
        return identity

    async def _say(self, client: Client, content: Content, identity: str) -> None:
        async def one() -> AsyncIterator[dict[str, Any]]:
            yield {
                "type": "user",
                "uuid": identity,
                "message": {"role": "user", "content": content},
                "parent_tool_use_id": None,
            }

        with contextlib.suppress(Exception):  # it has ended, which is noticed elsewhere
            await client.query(one())
