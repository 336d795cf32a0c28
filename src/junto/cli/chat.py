"""`junto chat`: a question and its answer in the terminal, as it comes."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import click

from junto.app import Junto, running
from junto.cli.notices import say_who_answers
from junto.domain.errors import InvalidInputError
from junto.domain.messages import Message
from junto.domain.questions import (
    Answer,
    Effort,
    Finished,
    Question,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Waiting,
)
from junto.settings import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How a question is to be asked; what is None is left to the settings."""

    model: str | None = None
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning: Effort | None = None
    schema: Mapping[str, Any] | None = None
    seed: int | None = None


def chat(loaded: Loaded, message: str, wishes: Wishes) -> None:
    """Ask once and print the answer."""
    asked = _with_pipe(message)
    with running(loaded, default_level="error") as junto:
        say_who_answers(junto.catalog)
        asyncio.run(_answered(junto, asked, wishes))


def _with_pipe(message: str) -> str:
    """Return what is asked, with what comes through a pipe after it."""
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    whole = "\n\n".join(part for part in (message, piped.strip()) if part)
    if not whole:
        raise InvalidInputError('Say something: junto chat "What is a monad?"')
    return whole


async def _answered(junto: Junto, message: str, wishes: Wishes) -> None:
    defaults = junto.settings.answers
    question = Question(
        model=junto.catalog.find(wishes.model).id,
        messages=(Message.user(message),),
        max_tokens=wishes.max_tokens or defaults.max_tokens,
        system=wishes.system or defaults.system,
        temperature=defaults.temperature if wishes.temperature is None else wishes.temperature,
        reasoning=wishes.reasoning,
        schema=wishes.schema,
        seed=wishes.seed,
    )
    terminal = _Terminal()
    async with junto.open(), aclosing(junto.council.stream(question)) as events:
        async for event in events:
            match event:
                case Waiting():
                    terminal.waits(event)
                case ThinkingDelta(text):
                    terminal.thinks(text)
                case TextDelta(text):
                    terminal.says(text)
                case Finished(answer):
                    terminal.ends(answer, junto)


@dataclass(slots=True)
class _Terminal:
    """Data to standard output, talk to standard error; talk only where somebody sits."""

    person: bool = field(default_factory=lambda: sys.stderr is not None and sys.stderr.isatty())
    _waited: bool = False
    _thought: bool = False

    def waits(self, waiting: Waiting) -> None:
        if not self.person:
            return
        share = f" {waiting.done / waiting.total:.0%}" if waiting.done and waiting.total else ""
        click.echo(f"\r\x1b[K{waiting.reason}{share} …", nl=False, err=True)
        self._waited = True

    def thinks(self, text: str) -> None:
        self._clear()
        self._thought = True
        click.secho(text, nl=False, err=True, dim=True)

    def says(self, text: str) -> None:
        self._clear()
        if self._thought:
            click.echo("\n", err=True)
            self._thought = False
        click.echo(text, nl=False)
        sys.stdout.flush()

    def ends(self, answer: Answer, junto: Junto) -> None:
        self._clear()
        click.echo()
        if answer.stop is StopReason.LENGTH:
            click.echo("The answer was cut off at its longest; --max-tokens allows more.", err=True)
        if self.person:
            price = junto.catalog.model(junto.catalog.find(answer.model)).price
            cost = f", ${price.cost(answer.usage):.6f}" if price else ""
            used = f"{answer.usage.input_tokens} tokens in, {answer.usage.output_tokens} out"
            click.secho(f"{answer.model}: {used}{cost}", err=True, dim=True)

    def _clear(self) -> None:
        if self._waited:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._waited = False
