"""Findings for people, as they come, and for programs, at the end."""

import contextlib
import json
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import click

from junto import __version__
from junto.cli.doctor.findings import Check, Finding, State
from junto.cli.writing import harmless, rewrite, rewrites, sits
from junto.settings.showing import spelled

_COLOURS: Mapping[State, str] = {"ok": "green", "warning": "yellow", "broken": "red"}
_MARKS: Mapping[State, str] = {"ok": "✓", "warning": "!", "broken": "✗"}
_PLAIN_MARKS: Mapping[State, str] = {"ok": "+", "warning": "!", "broken": "x"}
_ARROW, _PLAIN_ARROW = "→", "->"
_NAME = 15
_INDENT = " " * (4 + _NAME + 1)
_WIDEST = 100
_CODE = re.compile(r"`[^`]*`")
_BLANK = "\x00"


def _sayable(text: str) -> str:
    """Return what standard output can say of a text."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _takes(text: str) -> bool:
    return _sayable(text) == text


@dataclass(slots=True)
class Teller:
    """Says what is found; `clean` takes secrets out of all of it."""

    clean: Callable[[str], str]
    as_json: bool = False
    verbose: bool = False
    _found: list[tuple[Check, Finding]] = field(default_factory=list, init=False)
    _group: str = field(default="", init=False)
    _waits: bool = field(default=False, init=False)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Leave the terminal as it should be, also when somebody has heard enough."""
        try:
            yield
        finally:
            self._clear()

    def begins(self, check: Check) -> None:
        """Say what is being looked at, where somebody waits for it."""
        if rewrites(sys.stderr) and (self.as_json or sits(sys.stdout)):
            rewrite(f"  … {check.name}")
            self._waits = True

    def tell(self, check: Check, finding: Finding) -> None:
        """Say what was found."""
        self._clear()
        self._found.append((check, self._presentable(finding)))
        if not self.as_json:
            self._show(*self._found[-1])

    def ends(self) -> Counter[State]:
        """Sum up, and return how many there are of each state."""
        counts: Counter[State] = Counter(finding.state for _, finding in self._found)
        if self.as_json:
            click.echo(json.dumps(self._facts(counts), indent=2))
        else:
            click.echo(f"\n{_sum(counts)}")
        return counts

    def _presentable(self, finding: Finding) -> Finding:
        def said(text: str) -> str:
            return _sayable(harmless(" ".join(self.clean(text).split())))

        return Finding(
            said(finding.check),
            finding.state,
            said(finding.detail),
            said(finding.fix),
            finding.facts,
        )

    def _show(self, check: Check, finding: Finding) -> None:
        if check.group != self._group:
            if self._group:
                click.echo()
            click.echo(click.style(check.group, bold=True))
            self._group = check.group
        marks = _MARKS if _takes("".join(_MARKS.values())) else _PLAIN_MARKS
        mark = click.style(marks[finding.state], fg=_COLOURS[finding.state], bold=True)
        name = f"{finding.check:<{_NAME}} "
        # A name that is too long for its column takes some of the first line.
        head, *rest = _lines(finding.detail, name[_NAME + 1 :])
        click.echo(f"  {mark} {name[: _NAME + 1]}{head}")
        arrow = _ARROW if _takes(_ARROW) else _PLAIN_ARROW
        fix = _lines(finding.fix, f"{arrow} ", " " * (len(arrow) + 1)) if finding.fix else []
        for line in (*rest, *fix):
            click.echo(f"{_INDENT}{line}")
        for line in self._more(finding.facts) if self.verbose else ():
            click.echo(click.style(f"{_INDENT}{line}", dim=True))

    def _more(self, facts: Mapping[str, Any]) -> Iterator[str]:
        for name, fact in facts.items():
            match fact:
                case {"value": value, "origin": origin}:
                    text = f"{name}: {spelled(value)} ({origin})"
                case list():
                    text = f"{name}: {', '.join(map(str, fact)) or 'none'}"
                case _:
                    text = f"{name}: {spelled(fact)}"
            yield from _lines(_sayable(harmless(self.clean(text))), "", "  ")

    def _facts(self, counts: Mapping[State, int]) -> dict[str, Any]:
        states: tuple[State, ...] = ("broken", "warning", "ok")
        return {
            "version": __version__,
            "state": next((state for state in states if counts.get(state)), "ok"),
            "counts": {state: counts.get(state, 0) for state in reversed(states)},
            "findings": [
                {"group": check.group, **asdict(finding)} for check, finding in self._found
            ],
        }

    def _clear(self) -> None:
        if self._waits:
            rewrite("")
            self._waits = False


def _lines(text: str, start: str, then: str = "") -> list[str]:
    """Return a text as lines that fit; a program that reads them gets each text as one."""
    if not sits(sys.stdout):
        return [f"{start}{text}"]
    width = min(shutil.get_terminal_size().columns, _WIDEST) - len(_INDENT) - 1
    # What is to be typed stays on one line, if it can.
    bound = _CODE.sub(lambda code: code.group().replace(" ", _BLANK), text)
    lines = textwrap.wrap(
        bound,
        max(width, 20),
        initial_indent=start,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_BLANK, " ") for line in lines] or [start]


def _sum(counts: Mapping[State, int]) -> str:
    words: tuple[tuple[State, str], ...] = (
        ("ok", "fine"),
        ("warning", "to look at"),
        ("broken", "broken"),
    )
    said = [
        click.style(f"{counts[state]} {word}", fg=_COLOURS[state])
        for state, word in words
        if counts.get(state) or state == "ok"
    ]
    return ", ".join(said) + "."
