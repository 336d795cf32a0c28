"""An answer in a terminal: data to standard output, talk to standard error."""

import shutil
import sys
from dataclasses import dataclass, field

import click

from junto.cli.flowing import Flow
from junto.cli.writing import harmless, rewrite, rewrites, room_of, say, sits, wrapped
from junto.conversation.service import Asked, Reply
from junto.domain.questions import Event, StopReason, TextDelta, ThinkingDelta, Waiting


@dataclass(slots=True)
class Terminal:
    """Shows events as they come; talk only where somebody sits."""

    person: bool = field(default_factory=lambda: sits(sys.stderr))
    raw: bool = field(default_factory=lambda: not sits(sys.stdout))
    _flow: Flow = field(
        default_factory=lambda: Flow(shutil.get_terminal_size().columns), init=False
    )
    _waited: bool = field(default=False, init=False)
    _spoken: bool = field(default=False, init=False)
    _thought: bool = field(default=False, init=False)

    def shows(self, event: Event | Asked) -> None:
        """Show one event of an answer."""
        match event:
            case Waiting():
                self._waits(event)
            case ThinkingDelta(text):
                self._clear()
                self._thought = True
                click.secho(harmless(text), nl=False, err=True, dim=True)
            case TextDelta(text):
                self._clear()
                if self._thought:
                    click.echo("\n", err=True)
                    self._thought = False
                self._spoken = True
                click.echo(text if self.raw else self._flow.takes(harmless(text)), nl=False)
                if sys.stdout:
                    sys.stdout.flush()

    def ends(self, reply: Reply) -> None:
        """Show what is to be known after the answer."""
        self._clear()
        click.echo(self._flow.rest())
        usage = reply.answer.usage
        if reply.answer.stop is StopReason.LENGTH:
            say("The answer was cut off at its longest; --max-tokens allows more.")
        if reply.notice:
            say(reply.notice)
        if self.person:
            cost = f", ${reply.cost:.6f}" if reply.cost else ""
            used = f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"
            id_ = f" [{reply.conversation_id}]" if reply.conversation_id else ""
            line = wrapped(f"{reply.answer.model}: {used}{id_}", room_of(sys.stderr))
            click.secho(line, err=True, dim=True)

    def breaks_off(self) -> None:
        """End the line that an answer was at, if it had begun."""
        self._clear()
        if self._spoken:
            click.echo(self._flow.rest())
        elif self._thought:
            click.echo(err=True)

    def _waits(self, waiting: Waiting) -> None:
        if rewrites(sys.stderr):
            share = f" {waiting.done / waiting.total:.0%}" if waiting.done and waiting.total else ""
            rewrite(f"{waiting.reason}{share} …")
            self._waited = True

    def _clear(self) -> None:
        if self._waited:
            rewrite("")
            self._waited = False
