"""Output of findings: as text while checks run, or as JSON at the end."""

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

from junto.cli.doctor.checks import Check, CheckState, Finding
from junto.cli.terminal_text import can_rewrite_line, is_terminal, rewrite_line, sanitize
from junto.settings.render import format_yaml_value
from junto.version import __version__

_COLOURS: Mapping[CheckState, str] = {"ok": "green", "warning": "yellow", "broken": "red"}
_MARKS: Mapping[CheckState, str] = {"ok": "✓", "warning": "!", "broken": "✗"}
_PLAIN_MARKS: Mapping[CheckState, str] = {"ok": "+", "warning": "!", "broken": "x"}
_ARROW, _PLAIN_ARROW = "→", "->"
_NAME_WIDTH = 15
_INDENT = " " * (4 + _NAME_WIDTH + 1)
_MAX_WIDTH = 100
_CODE_SPAN = re.compile(r"`[^`]*`")
_SPACE_PLACEHOLDER = "\x00"


def _encode_for_stdout(text: str) -> str:
    """Return a text with the characters replaced that stdout cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _can_encode(text: str) -> bool:
    return _encode_for_stdout(text) == text


@dataclass(slots=True)
class Reporter:
    """Prints findings; `redact` removes secrets from their texts."""

    redact: Callable[[str], str]
    as_json: bool = False
    verbose: bool = False
    _findings: list[tuple[Check, Finding]] = field(default_factory=list, init=False)
    _current_group: str = field(default="", init=False)
    _has_progress: bool = field(default=False, init=False)

    @contextlib.contextmanager
    def clear_on_exit(self) -> Iterator[None]:
        """Clear the progress line when the block ends, also on an interrupt."""
        try:
            yield
        finally:
            self._clear_progress()

    def show_progress(self, check: Check) -> None:
        """Show the name of the running check, if stderr is a terminal."""
        if can_rewrite_line(sys.stderr) and (self.as_json or is_terminal(sys.stdout)):
            rewrite_line(f"  … {check.name}")
            self._has_progress = True

    def report(self, check: Check, finding: Finding) -> None:
        """Record a finding, and print it unless the output is JSON."""
        self._clear_progress()
        self._findings.append((check, self._sanitize(finding)))
        if not self.as_json:
            self._print_finding(*self._findings[-1])

    def finish(self) -> Counter[CheckState]:
        """Print the summary, and return the number of findings per state."""
        counts: Counter[CheckState] = Counter(finding.state for _, finding in self._findings)
        if self.as_json:
            click.echo(json.dumps(self._build_summary(counts), indent=2))
        else:
            click.echo(f"\n{_format_counts(counts)}")
        return counts

    def _sanitize(self, finding: Finding) -> Finding:
        def sanitize_text(text: str) -> str:
            return _encode_for_stdout(sanitize(" ".join(self.redact(text).split())))

        return Finding(
            sanitize_text(finding.check),
            finding.state,
            sanitize_text(finding.detail),
            sanitize_text(finding.fix),
            finding.facts,
        )

    def _print_finding(self, check: Check, finding: Finding) -> None:
        if check.group != self._current_group:
            if self._current_group:
                click.echo()
            click.echo(click.style(check.group, bold=True))
            self._current_group = check.group
        marks = _MARKS if _can_encode("".join(_MARKS.values())) else _PLAIN_MARKS
        mark = click.style(marks[finding.state], fg=_COLOURS[finding.state], bold=True)
        name = f"{finding.check:<{_NAME_WIDTH}} "
        # A name that is too long for its column continues in the first line of the detail.
        head, *rest = _wrap_lines(finding.detail, name[_NAME_WIDTH + 1 :])
        click.echo(f"  {mark} {name[: _NAME_WIDTH + 1]}{head}")
        arrow = _ARROW if _can_encode(_ARROW) else _PLAIN_ARROW
        fix = _wrap_lines(finding.fix, f"{arrow} ", " " * (len(arrow) + 1)) if finding.fix else []
        for line in (*rest, *fix):
            click.echo(f"{_INDENT}{line}")
        for line in self._format_facts(finding.facts) if self.verbose else ():
            click.echo(click.style(f"{_INDENT}{line}", dim=True))

    def _format_facts(self, facts: Mapping[str, Any]) -> Iterator[str]:
        for name, fact in facts.items():
            match fact:
                case {"value": value, "origin": origin}:
                    text = f"{name}: {format_yaml_value(value)} ({origin})"
                case list():
                    text = f"{name}: {', '.join(map(str, fact)) or 'none'}"
                case _:
                    text = f"{name}: {format_yaml_value(fact)}"
            yield from _wrap_lines(_encode_for_stdout(sanitize(self.redact(text))), "", "  ")

    def _build_summary(self, counts: Mapping[CheckState, int]) -> dict[str, Any]:
        states: tuple[CheckState, ...] = ("broken", "warning", "ok")
        return {
            "version": __version__,
            "state": next((state for state in states if counts.get(state)), "ok"),
            "counts": {state: counts.get(state, 0) for state in reversed(states)},
            "findings": [
                {"group": check.group, **asdict(finding)} for check, finding in self._findings
            ],
        }

    def _clear_progress(self) -> None:
        if self._has_progress:
            rewrite_line("")
            self._has_progress = False


def _wrap_lines(text: str, first_prefix: str, next_prefix: str = "") -> list[str]:
    """Return a text as lines that fit the terminal, or as one line if stdout is not one."""
    if not is_terminal(sys.stdout):
        return [f"{first_prefix}{text}"]
    width = min(shutil.get_terminal_size().columns, _MAX_WIDTH) - len(_INDENT) - 1
    # Commands in backticks stay on one line where possible.
    protected = _CODE_SPAN.sub(lambda match: match.group().replace(" ", _SPACE_PLACEHOLDER), text)
    lines = textwrap.wrap(
        protected,
        max(width, 20),
        initial_indent=first_prefix,
        subsequent_indent=next_prefix,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_SPACE_PLACEHOLDER, " ") for line in lines] or [first_prefix]


def _format_counts(counts: Mapping[CheckState, int]) -> str:
    labels: tuple[tuple[CheckState, str], ...] = (
        ("ok", "fine"),
        ("warning", "to look at"),
        ("broken", "broken"),
    )
    parts = [
        click.style(f"{counts[state]} {label}", fg=_COLOURS[state])
        for state, label in labels
        if counts.get(state) or state == "ok"
    ]
    return ", ".join(parts) + "."
