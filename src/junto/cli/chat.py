"""`junto chat`: a single question, or an interactive conversation in the terminal."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import click

from junto.app.application import Application, build_app
from junto.cli.banner import print_model_notice
from junto.cli.chat_terminal import ReplyPrinter, enable_readline, iter_messages
from junto.cli.terminal_text import print_stderr, sanitize
from junto.conversation.service import ChatRequest, Reply, RequestSent
from junto.domain.completions import Effort
from junto.domain.conversations import LOCAL_OWNER, Conversation
from junto.domain.errors import InvalidInputError, JuntoError, NotFoundError
from junto.domain.messages import Message
from junto.domain.usage import RequestOrigin
from junto.settings import LoadedSettings
from junto.settings.paths import resolve_state_dir

# The tool name under which usage is recorded.
_TOOL_NAME = "junto chat"
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
class ChatOptions:
    """Options of `junto chat`; None uses the value from the settings."""

    model: str | None = None
    conversation: str | None = None
    latest: bool = False
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning: Effort | None = None
    seed: int | None = None


def run_chat(loaded: LoadedSettings, message: str, options: ChatOptions) -> None:
    """Ask once and print the answer, or start an interactive session in a terminal."""
    is_interactive = sys.stdin is not None and sys.stdin.isatty()
    with build_app(loaded, default_level="error") as junto, _ChatSession(junto, options) as session:
        if message or not is_interactive:
            session.ask(_append_piped_input(message, is_interactive=is_interactive))
        else:
            session.run_interactive(resolve_state_dir(junto.settings) / "chat_history")


def _append_piped_input(message: str, *, is_interactive: bool) -> str:
    """Return the message followed by the text piped to standard input.

    Raises:
        InvalidInputError: both are empty.
    """
    has_pipe = sys.stdin is not None and not is_interactive
    piped = sys.stdin.buffer.read().decode("utf-8", "replace") if has_pipe else ""
    # Python decodes invalid UTF-8 in arguments to lone surrogates, which cannot be encoded again.
    text = message.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    question = "\n\n".join(part for part in (text, piped.strip()) if part)
    if not question:
        raise InvalidInputError('Say something: junto chat "What is a monad?"')
    return question


@dataclass(slots=True)
class _ChatSession:
    """A chat session with its own event loop, conversation and options."""

    junto: Application
    options: ChatOptions
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner, init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)
    _conversation_id: str | None = field(default=None, init=False)
    _has_shown_notice: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        self._runner.run(self._stack.enter_async_context(self.junto.open()))
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def ask(self, message: str) -> None:
        """Send a message and print the reply, in the current conversation or a new one."""
        self._conversation_id = self._conversation_id or self._resolve_conversation_id()
        self._runner.run(self._print_reply(message))
        self.options = replace(self.options, model=None, system=None)

    def run_interactive(self, history_path: Path) -> None:
        """Read and answer messages until the end of input."""
        self._conversation_id = self._resolve_conversation_id()
        click.secho("Ctrl-D leaves, /help shows what else there is.", err=True, dim=True)
        with enable_readline(history_path, self._list_completions()):
            for line in iter_messages():
                if line == "/quit":
                    return
                try:
                    self._handle_line(line)
                except JuntoError as error:
                    print_stderr(f"junto: {sanitize(error.message)}")
                except KeyboardInterrupt:
                    print_stderr("\n(stopped; nothing of it is kept)")

    def _handle_line(self, line: str) -> None:
        if not line.startswith("/"):
            self.ask(line)
            return
        command, _, rest = line.partition(" ")
        commands: dict[str, Callable[[str], None]] = {
            "/model": self._switch_model,
            "/system": self._set_system,
            "/fork": self._fork,
            "/new": self._start_new,
            "/history": self._print_history,
            "/help": lambda _: click.echo(_HELP, err=True),
        }
        if command not in commands:
            raise InvalidInputError(f"There is no {command}. /help shows what there is.")
        commands[command](rest.strip())

    def _switch_model(self, name: str) -> None:
        if not name:
            for model in self.junto.catalog.iter_models():
                print_stderr(f"{'*' if model.is_default else ' '} {model.id}")
            return
        spec = self.junto.catalog.find(name)
        self.options = replace(self.options, model=spec.id)
        print_stderr(f"{spec.id} answers from here on.")

    def _set_system(self, text: str) -> None:
        if text:
            self.options = replace(self.options, system=text)
            return
        conversation = self._load_conversation() if self._conversation_id else None
        print_stderr((conversation.system if conversation else self.options.system) or "(none)")

    def _fork(self, _: str) -> None:
        if not self._conversation_id:
            raise InvalidInputError("Nothing has been said yet, so there is nothing to branch off.")
        fork = self.junto.conversations.fork(LOCAL_OWNER, self._conversation_id)
        self._conversation_id = self._runner.run(fork).id
        print_stderr(f"On a branch of its own: {self._conversation_id}")

    def _start_new(self, _: str) -> None:
        self._conversation_id = None
        self.options = replace(self.options, conversation=None, latest=False)

    def _print_history(self, _: str) -> None:
        from junto.conversation.export import format_markdown

        if self._conversation_id:
            store = self.junto.conversations.require_store()
            messages = self._runner.run(store.load_messages(LOCAL_OWNER, self._conversation_id))
            click.echo(sanitize(format_markdown(self._load_conversation(), messages)), err=True)

    def _load_conversation(self) -> Conversation:
        return self._runner.run(
            self.junto.conversations.find(LOCAL_OWNER, self._conversation_id or "")
        )

    def _resolve_conversation_id(self) -> str | None:
        if self.options.conversation:
            return self.options.conversation
        if not self.options.latest:
            return None
        store = self.junto.conversations.require_store()
        page = self._runner.run(store.list_conversations(LOCAL_OWNER, None, 1))
        if not page.conversations:
            raise NotFoundError("There is no conversation to go on with yet.")
        return page.conversations[0].id

    async def _print_reply(self, message: str) -> None:
        options = self.options
        request = ChatRequest(
            message=Message.user(message),
            owner=LOCAL_OWNER,
            tool=_TOOL_NAME,
            conversation_id=self._conversation_id,
            model_id=options.model,
            system=options.system,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            reasoning=options.reasoning,
            seed=options.seed,
        )
        printer, failed = ReplyPrinter(), True
        try:
            async with aclosing(self.junto.conversations.reply(request)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        printer.finish(event)
                        self._conversation_id, failed = event.conversation_id, False
                    elif isinstance(event, RequestSent) and options.model is None:
                        self._print_notice_once()
                    else:
                        printer.print_event(event)
        except JuntoError:
            printer.abort()
            raise
        finally:
            self.junto.usage.recorder.record_tool_call(
                RequestOrigin(LOCAL_OWNER, _TOOL_NAME), failed=failed
            )

    def _print_notice_once(self) -> None:
        """Print the model notice before the first reply of the session."""
        if not self._has_shown_notice:
            print_model_notice(self.junto.catalog)
            self._has_shown_notice = True

    def _list_completions(self) -> list[str]:
        commands = [line.split()[0] for line in _HELP.splitlines() if line.startswith("/")]
        return [*commands, *self.junto.catalog.specs()]
