"""Writes docs/reference/commands.md: every command, as it explains itself."""

from collections.abc import Iterator

import click

from junto.cli.main import run  # its module makes all commands known
from junto.cli.options import junto

__all__ = ["commands_page", "helps", "run"]

_HEAD = """\
# Commands

What each command says about itself with `--help`. Standard output is data, standard error is talk. Exit codes: 0
fine, 1 failed, 2 usage or configuration; `junto status` ends with 3 when no server runs, and Ctrl-C with 130.
"""
_COLUMNS = 80


def commands_page() -> str:
    sections = (
        f"\n## {path}\n\n```console\n$ {path} --help\n{help_}\n```\n" for path, help_ in helps()
    )
    return _HEAD + "".join(sections)


def helps() -> Iterator[tuple[str, str]]:
    """Yield each command that is not hidden, with its help on a terminal of 80 columns."""
    yield from _walk(junto, "junto", None)


def _walk(
    command: click.Command, path: str, parent: click.Context | None
) -> Iterator[tuple[str, str]]:
    name = path.rpartition(" ")[2]
    context = command.context_class(
        command,
        info_name=name,
        parent=parent,
        terminal_width=_COLUMNS - 2,
        **command.context_settings,
    )
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found and not found.hidden:
                yield from _walk(found, f"{path} {each}", context)
