"""`junto chat`: a question and its answer, or a whole conversation, in the terminal."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import click

from junto.app import Junto, running
from junto.cli.keyboard import remembered, typed
from junto.cli.notices import say_who_answers
from junto.cli.terminal import Terminal
from junto.cli.writing import harmless, say
from junto.conversation.service import Asked, Reply, Request
from junto.domain.conversations import Conversation
from junto.domain.errors import InvalidInputError, JuntoError, NotFoundError
from junto.domain.messages import Message
from junto.domain.questions import Effort
from junto.domain.usage import Origin
from junto.settings import Loaded
from junto.settings.places import state_directory
from junto.tools.tool import LOCAL_CALLER

# As which it is counted.
_NAME = "junto chat"
_HELP = """\
/model [ID]      ask another model from here on; without ID, list them
/system [TEXT]   say who the model should be; without TEXT, show it
/fork            go on from here on a branch; what was said so far is shared
/new             begin a new conversation
/history         show what was said so far
/quit            leave; so does Ctrl-D
A line that ends in \\ goes on in the next; three quotes begin and end a block.
Ctrl-C stops an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How questions are to be asked; what is None is left to the settings."""

    model: str | None = None
    conversation: str | None = None
    latest: bool = False
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning: Effort | None = None
    seed: int | None = None


def chat(loaded: Loaded, message: str, wishes: Wishes) -> None:
    """Ask once and print the answer, or talk for as long as somebody sits there."""
    person = sys.stdin is not None and sys.stdin.isatty()
    with running(loaded, default_level="error") as junto, _Talk(junto, wishes) as talk:
        if message or not person:
            talk.says(_with_pipe(message, person=person))
        else:
            talk.goes_on(state_directory(junto.settings) / "chat_history")


def _with_pipe(message: str, *, person: bool) -> str:
    """Return what is asked, with what comes through a pipe after it."""
    listening = sys.stdin is not None and not person
    piped = sys.stdin.buffer.read().decode("utf-8", "replace") if listening else ""
    # What is no UTF-8 on a command line comes as halves of surrogates, which no model can be sent.
    words = message.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    whole = "\n\n".join(part for part in (words, piped.strip()) if part)
    if not whole:
        raise InvalidInputError('Say something: junto chat "What is a monad?"')
    return whole


@dataclass(slots=True)
class _Talk:
    """A conversation with whoever sits at the terminal."""

    junto: Junto
    wishes: Wishes
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner, init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)
    _id: str | None = field(default=None, init=False)
    _introduced: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        self._runner.run(self._stack.enter_async_context(self.junto.open()))
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def says(self, message: str) -> None:
        """Say something and show the answer; a conversation begins or goes on with it."""
        self._id = self._id or self._chosen()
        self._runner.run(self._answered(message))
        self.wishes = replace(self.wishes, model=None, system=None)

    def goes_on(self, history: Path) -> None:
        """Talk until the end of the input."""
        self._id = self._chosen()
        click.secho("Ctrl-D leaves, /help shows what else there is.", err=True, dim=True)
        with remembered(history, self._words()):
            for line in typed():
                if line == "/quit":
                    return
                try:
                    self._takes(line)
                except JuntoError as error:
                    say(f"junto: {harmless(error.message)}")
                except KeyboardInterrupt:
                    say("\n(stopped; nothing of it is kept)")

    def _takes(self, line: str) -> None:
        if not line.startswith("/"):
            self.says(line)
            return
        command, _, rest = line.partition(" ")
        commands: dict[str, Callable[[str], None]] = {
            "/model": self._model,
            "/system": self._system,
            "/fork": self._fork,
            "/new": self._new,
            "/history": self._history,
            "/help": lambda _: click.echo(_HELP, err=True),
        }
        if command not in commands:
            raise InvalidInputError(f"There is no {command}. /help shows what there is.")
        commands[command](rest.strip())

    def _model(self, name: str) -> None:
        if not name:
            for model in self.junto.catalog.models():
                say(f"{'*' if model.default else ' '} {model.id}")
            return
        found = self.junto.catalog.find(name)
        self.wishes = replace(self.wishes, model=found.id)
        say(f"{found.id} answers from here on.")

    def _system(self, text: str) -> None:
        if text:
            self.wishes = replace(self.wishes, system=text)
            return
        found = self._found() if self._id else None
        say((found.system if found else self.wishes.system) or "(none)")

    def _fork(self, _: str) -> None:
        if not self._id:
            raise InvalidInputError("Nothing has been said yet, so there is nothing to branch off.")
        fork = self.junto.conversations.fork(LOCAL_CALLER, self._id)
        self._id = self._runner.run(fork).id
        say(f"On a branch of its own: {self._id}")

    def _new(self, _: str) -> None:
        self._id = None
        self.wishes = replace(self.wishes, conversation=None, latest=False)

    def _history(self, _: str) -> None:
        from junto.conversation.archive import markdown

        if self._id:
            store = self.junto.conversations.open_store()
            said = self._runner.run(store.said(LOCAL_CALLER, self._id))
            click.echo(harmless(markdown(self._found(), said)), err=True)

    def _found(self) -> Conversation:
        return self._runner.run(self.junto.conversations.find(LOCAL_CALLER, self._id or ""))

    def _chosen(self) -> str | None:
        if self.wishes.conversation:
            return self.wishes.conversation
        if not self.wishes.latest:
            return None
        store = self.junto.conversations.open_store()
        page = self._runner.run(store.listed(LOCAL_CALLER, None, 1))
        if not page.conversations:
            raise NotFoundError("There is no conversation to go on with yet.")
        return page.conversations[0].id

    async def _answered(self, message: str) -> None:
        wishes = self.wishes
        request = Request(
            message=Message.user(message),
            owner=LOCAL_CALLER,
            tool=_NAME,
            conversation_id=self._id,
            model_id=wishes.model,
            system=wishes.system,
            max_tokens=wishes.max_tokens,
            temperature=wishes.temperature,
            reasoning=wishes.reasoning,
            seed=wishes.seed,
        )
        terminal, failed = Terminal(), True
        try:
            async with aclosing(self.junto.conversations.reply(request)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        terminal.ends(event)
                        self._id, failed = event.conversation_id, False
                    elif isinstance(event, Asked) and wishes.model is None:
                        self._introduce()
                    else:
                        terminal.shows(event)
        except JuntoError:
            terminal.breaks_off()
            raise
        finally:
            self.junto.counting.book.tool_called(Origin(LOCAL_CALLER, _NAME), failed=failed)

    def _introduce(self) -> None:
        """Say who answers, before the first answer."""
        if not self._introduced:
            say_who_answers(self.junto.catalog)
            self._introduced = True

    def _words(self) -> list[str]:
        commands = [line.split()[0] for line in _HELP.splitlines() if line.startswith("/")]
        return [*commands, *self.junto.catalog.offers()]
