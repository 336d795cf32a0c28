"""Something that was found: what it is called, where it is, and the part of it that fits."""

import sys

import click

from junto.cli.writing import room_of, shown, wrapped


def show_hit(title: str, where: str, snippet: str) -> None:
    """Print what was found."""
    room = room_of(sys.stdout)
    click.secho(wrapped(shown(title), room), bold=True)
    click.secho(wrapped(shown(where), room), dim=True)
    click.echo(wrapped(shown(f"{snippet}\n"), room))
