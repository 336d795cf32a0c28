"""`junto help`."""

import click

from junto.cli.options import junto


@junto.command(
    short_help="Tell about a command.",
    heading="Help",
    examples={
        "junto help": "The commands there are:",
        "junto help conversations fork": "One of them:",
    },
    see=("junto COMMAND --help, which says the same",),
)
@click.argument("command", nargs=-1, help="The words of a command.")
@click.pass_context
def help(ctx: click.Context, command: tuple[str, ...]) -> None:  # noqa: A001 - its name
    """Tell about a command, or list the commands there are."""
    around = ctx.find_root()
    for word in command:
        group = around.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{around.command_path} has no commands of its own.", around)
        found = group.get_command(around, word)
        if found is None:
            raise click.NoSuchCommand(word, possibilities=group.commands, ctx=around)
        around = click.Context(found, info_name=word, parent=around)
    click.echo(around.get_help())
