"""Terminal input and output of `junto chat`.

Reads messages with line editing and history. Prints replies to standard output; status, reasoning
and usage go to standard error.
"""

import contextlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from junto.cli.terminal_text import (
    can_rewrite_line,
    display_width,
    get_max_columns,
    is_terminal,
    print_stderr,
    rewrite_line,
    sanitize,
    wrap_text,
)
from junto.conversation.service import Reply, RequestSent
from junto.domain.completions import Event, StatusEvent, StopReason, TextDelta, ThinkingDelta
from junto.security.private_dirs import make_private_dirs

_PROMPT, _CONTINUATION_PROMPT = "you> ", "...> "
_BLOCK_QUOTES = '"""'
_MAX_HISTORY_LINES = 1000
_FENCE = "```"
# Prefixes of lines that must not be wrapped: tables and code fences.
_VERBATIM_PREFIXES = ("|", _FENCE)


@dataclass(slots=True)
class StreamWrapper:
    """Wraps streamed text at word boundaries to `max_columns`.

    An incomplete last word is buffered. Code blocks, indented lines and tables are not wrapped.
    """

    max_columns: int
    _column: int = field(default=0, init=False)
    _pending_spaces: int = field(default=0, init=False)
    _pending_word: str = field(default="", init=False)
    _is_verbatim: bool = field(default=False, init=False)
    _is_fenced: bool = field(default=False, init=False)

    def feed(self, text: str) -> str:
        """Add text and return the part that can be printed now."""
        return "".join(map(self._feed_char, text))

    def flush(self) -> str:
        """Return the buffered text."""
        word = self._flush_word()
        fits = self._is_verbatim or self._column + self._pending_spaces <= self.max_columns
        return word + " " * self._pending_spaces if fits else word

    def _feed_char(self, char: str) -> str:
        if char == "\n":
            line_end = self.flush() + "\n"
            self._column, self._pending_spaces, self._is_verbatim = 0, 0, self._is_fenced
            return line_end
        if char == " ":
            word = self._flush_word()
            self._pending_spaces += 1
            return word
        if display_width(char) > 1:  # CJK text has no spaces, so a line may break anywhere
            before = self._flush_word()
            self._pending_word = char
            return before + self._flush_word()
        self._pending_word += char
        return ""

    def _flush_word(self) -> str:
        """Return the buffered word, preceded by its spaces or a line break."""
        word, self._pending_word = self._pending_word, ""
        if not word:
            return ""
        columns = display_width(word)
        if not self._column:
            self._start_line(word)
        if (
            self._column
            and not self._is_verbatim
            and self._column + self._pending_spaces + columns > self.max_columns
        ):
            before, self._column = "\n", 0
        else:
            before = " " * self._pending_spaces
        self._column += len(before.strip("\n")) + columns
        self._pending_spaces = 0
        return before + word

    def _start_line(self, first_word: str) -> None:
        if first_word.startswith(_FENCE):
            self._is_fenced = not self._is_fenced
        self._is_verbatim = (
            self._is_fenced or self._pending_spaces > 0 or first_word.startswith(_VERBATIM_PREFIXES)
        )


@dataclass(slots=True)
class ReplyPrinter:
    """Prints the events of a reply; usage only if standard error is a terminal."""

    is_interactive: bool = field(default_factory=lambda: is_terminal(sys.stderr))
    raw: bool = field(default_factory=lambda: not is_terminal(sys.stdout))
    _wrapper: StreamWrapper = field(
        default_factory=lambda: StreamWrapper(shutil.get_terminal_size().columns), init=False
    )
    _has_status_line: bool = field(default=False, init=False)
    _has_text: bool = field(default=False, init=False)
    _is_thinking: bool = field(default=False, init=False)

    def print_event(self, event: Event | RequestSent) -> None:
        """Print one event of a reply."""
        match event:
            case StatusEvent():
                self._print_waiting(event)
            case ThinkingDelta(text):
                self._clear_status()
                self._is_thinking = True
                click.secho(sanitize(text), nl=False, err=True, dim=True)
            case TextDelta(text):
                self._clear_status()
                if self._is_thinking:
                    click.echo("\n", err=True)
                    self._is_thinking = False
                self._has_text = True
                click.echo(text if self.raw else self._wrapper.feed(sanitize(text)), nl=False)
                if sys.stdout:
                    sys.stdout.flush()

    def finish(self, reply: Reply) -> None:
        """Print the buffered text, then notices and usage."""
        self._clear_status()
        click.echo(self._wrapper.flush())
        usage = reply.answer.usage
        if reply.answer.stop_reason is StopReason.LENGTH:
            print_stderr("The answer was cut off at its longest; --max-tokens allows more.")
        if reply.notice:
            print_stderr(reply.notice)
        if self.is_interactive:
            cost = f", ${reply.cost:.6f}" if reply.cost else ""
            tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"
            id_ = f" [{reply.conversation_id}]" if reply.conversation_id else ""
            line = wrap_text(f"{reply.answer.model}: {tokens}{id_}", get_max_columns(sys.stderr))
            click.secho(line, err=True, dim=True)

    def abort(self) -> None:
        """End the line of an unfinished reply."""
        self._clear_status()
        if self._has_text:
            click.echo(self._wrapper.flush())
        elif self._is_thinking:
            click.echo(err=True)

    def _print_waiting(self, waiting: StatusEvent) -> None:
        if can_rewrite_line(sys.stderr):
            share = f" {waiting.done / waiting.total:.0%}" if waiting.done and waiting.total else ""
            rewrite_line(f"{waiting.reason}{share} …")
            self._has_status_line = True

    def _clear_status(self) -> None:
        if self._has_status_line:
            rewrite_line("")
            self._has_status_line = False


@contextlib.contextmanager
def enable_readline(history_path: Path, completions: Sequence[str]) -> Iterator[None]:
    """Enable input history and completion of `completions` within the block."""
    try:
        import readline
    except ImportError:  # not available on Windows; plain input still works
        yield
        return

    def complete(text: str, state: int) -> str | None:
        matches = [word for word in completions if word.startswith(text)]
        return matches[state] if state < len(matches) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    with contextlib.suppress(OSError):
        readline.read_history_file(history_path)
    readline.set_history_length(_MAX_HISTORY_LINES)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            make_private_dirs(history_path.parent)
            history_path.touch(mode=0o600)
            readline.write_history_file(history_path)


def iter_messages() -> Iterator[str]:
    """Yield typed messages, which may span several lines, until Ctrl-D."""
    while True:
        try:
            # Python decodes invalid UTF-8 to lone surrogates, which cannot be encoded again.
            if text := _read_message().strip().encode("utf-8", "replace").decode():
                yield text
        except EOFError:
            click.echo(err=True)
            return
        except KeyboardInterrupt:
            click.echo("\n(Ctrl-D leaves)", err=True)


def _read_message() -> str:
    line = input(_PROMPT)
    if line.startswith(_BLOCK_QUOTES):
        return _read_block(line.removeprefix(_BLOCK_QUOTES))
    lines = [line]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        lines.append(input(_CONTINUATION_PROMPT))
    return "\n".join(lines)


def _read_block(first_line: str) -> str:
    lines = [first_line]
    while not lines[-1].endswith(_BLOCK_QUOTES):
        lines.append(input(_CONTINUATION_PROMPT))
    lines[-1] = lines[-1].removesuffix(_BLOCK_QUOTES)
    return "\n".join(lines)
