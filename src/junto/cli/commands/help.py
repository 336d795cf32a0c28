"""Definitions of `junto completion` and `help`."""

import os
import sys
from pathlib import Path

import click

from junto.cli.completion_values import complete_command
from junto.cli.options import junto


@junto.command(
    short_help="Print what makes your shell complete words.",
    heading="Help",
    examples={
        'eval "$(junto completion bash)"': "In this bash; the line in ~/.bashrc makes it last:",
        'eval "$(junto completion zsh)"': "In this zsh; in ~/.zshrc it stands after compinit:",
        "junto completion fish | source": "In this fish:",
    },
    see=("junto help",),
)
@click.argument(
    "shell",
    metavar="SHELL",
    type=click.Choice(["bash", "zsh", "fish"]),
    required=False,
    help="The shell.  [default: the one that SHELL names]",
)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> None:
    """Print the script that makes a shell complete the words of `junto`.

    It completes commands, options and files, and also values: models after -m, conversations by
    their ids, clients. Only what is on this machine is looked at, and nothing is changed.
    """
    from junto.cli.completion import SETUP_HINTS, SHELLS, build_script

    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(f"Name the shell: {', '.join(SHELLS)}.")
    click.echo(build_script(ctx.find_root().command, name), nl=False)
    if sys.stdout and sys.stdout.isatty():
        click.echo(SETUP_HINTS[name], err=True)


@junto.command(
    short_help="Tell about a command.",
    heading="Help",
    examples={
        "junto help": "The commands there are:",
        "junto help conversations fork": "One of them:",
    },
    see=("junto COMMAND --help, which says the same",),
)
@click.argument(
    "command", nargs=-1, help="The words of a command.", shell_complete=complete_command
)
@click.pass_context
def help(ctx: click.Context, command: tuple[str, ...]) -> None:  # noqa: A001 - click takes the command name from it
    """Tell about a command, or list the commands there are."""
    current = ctx.find_root()
    for word in command:
        group = current.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{current.command_path} has no commands of its own.", current)
        subcommand = group.get_command(current, word)
        if subcommand is None:
            raise click.NoSuchCommand(word, possibilities=group.commands, ctx=current)
        current = click.Context(subcommand, info_name=word, parent=current)
    click.echo(current.get_help())
