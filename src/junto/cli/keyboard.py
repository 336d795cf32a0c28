"""Lines that somebody types, with what they typed before at hand."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

_PROMPT, _GOES_ON = "you> ", "...> "
_QUOTES = '"""'
_MOST_REMEMBERED = 1000


@contextlib.contextmanager
def remembered(history: Path, words: Sequence[str]) -> Iterator[None]:
    """Offer earlier lines and complete `words` until the end of the block."""
    try:
        import readline
    except ImportError:  # Windows: lines can still be typed
        yield
        return

    def completed(text: str, number: int) -> str | None:
        found = [word for word in words if word.startswith(text)]
        return found[number] if number < len(found) else None

    readline.set_completer(completed)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    with contextlib.suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_MOST_REMEMBERED)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            history.touch(mode=0o600)
            readline.write_history_file(history)


def typed() -> Iterator[str]:
    """Yield what is typed, several lines at once where they belong together, until Ctrl-D."""
    while True:
        try:
            # What is no UTF-8 comes as halves of surrogates, which no model can be sent.
            if text := _one().strip().encode("utf-8", "replace").decode():
                yield text
        except EOFError:
            click.echo(err=True)
            return
        except KeyboardInterrupt:
            click.echo("\n(Ctrl-D leaves)", err=True)


def _one() -> str:
    line = input(_PROMPT)
    if line.startswith(_QUOTES):
        return _block(line.removeprefix(_QUOTES))
    lines = [line]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        lines.append(input(_GOES_ON))
    return "\n".join(lines)


def _block(first: str) -> str:
    lines = [first]
    while not lines[-1].endswith(_QUOTES):
        lines.append(input(_GOES_ON))
    lines[-1] = lines[-1].removesuffix(_QUOTES)
    return "\n".join(lines)
