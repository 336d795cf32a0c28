"""An answer in a terminal: data to standard output, talk to standard error."""

import re
import sys
from dataclasses import dataclass, field

import click

from junto.conversation.service import Asked, Reply
from junto.domain.questions import Event, StopReason, TextDelta, ThinkingDelta, Waiting

# What a model says must not move the cursor, change the title, or write to the clipboard.
# Nor may it turn the direction of what is written.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _sits(stream: object) -> bool:
    return bool(stream and getattr(stream, "isatty", lambda: False)())


@dataclass(slots=True)
class Terminal:
    """Shows events as they come; talk only where somebody sits."""

    person: bool = field(default_factory=lambda: _sits(sys.stderr))
    raw: bool = field(default_factory=lambda: not _sits(sys.stdout))
    _waited: bool = field(default=False, init=False)
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
                click.echo(text if self.raw else harmless(text), nl=False)
                if sys.stdout:
                    sys.stdout.flush()

    def ends(self, reply: Reply) -> None:
        """Show what is to be known after the answer."""
        self._clear()
        click.echo()
        usage = reply.answer.usage
        if reply.answer.stop is StopReason.LENGTH:
            click.echo("The answer was cut off at its longest; --max-tokens allows more.", err=True)
        if reply.notice:
            click.echo(reply.notice, err=True)
        if self.person:
            cost = "" if reply.cost is None else f", ${reply.cost:.6f}"
            used = f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"
            id_ = f" [{reply.conversation_id}]" if reply.conversation_id else ""
            click.secho(f"{reply.answer.model}: {used}{id_}", err=True, dim=True)

    def _waits(self, waiting: Waiting) -> None:
        if self.person:
            share = f" {waiting.done / waiting.total:.0%}" if waiting.done and waiting.total else ""
            click.echo(f"\r\x1b[K{waiting.reason}{share} …", nl=False, err=True)
            self._waited = True

    def _clear(self) -> None:
        if self._waited:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._waited = False


def shown(text: str) -> str:
    """Return text for standard output: as it is for a program, harmless for a terminal."""
    return harmless(text) if _sits(sys.stdout) else text


def harmless(text: str) -> str:
    """Return text that moves no cursor and rings no bell."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
