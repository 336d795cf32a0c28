"""`junto index` and `search`."""

import sys
from pathlib import Path
from typing import Any

import click

from junto.cli.options import junto, loaded_with, with_settings


@junto.command(short_help="Make files, folders and pages searchable.")
@click.argument("what", nargs=-1, metavar="[PATH | PATTERN | URL | -]...")
@click.option("--note", metavar="TEXT", help="Keep a note instead of a file.")
@click.option("--title", help="What a note is called; one of the same title is replaced.")
@click.option("--shared", is_flag=True, help="For every caller of this server, not just you.")
@click.option("--remove", is_flag=True, help="Remove what was indexed instead of adding it.")
@click.option("--watch", is_flag=True, help="Go on, and index what changes.")
@click.option("--words-only", is_flag=True, help="Words now; a running server adds the meaning.")
@click.option("--list", "listed", is_flag=True, help="List the documents and notes there are.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_settings
def index(what: tuple[str, ...], config: Path | None, log_level: str | None, **wishes: Any) -> None:
    """Make files, folders and pages of the web searchable; without any, show what there is.

    A second run reads only what has changed and removes what is gone. What .gitignore names, links,
    binary files and files that are named like secrets are left out. `-` reads a note from a pipe.
    --remove takes paths, addresses and ids.
    """
    from junto.cli import indexing
    from junto.cli.orders import Order

    sys.exit(indexing.index(loaded_with(config, log_level), Order(words=what, **wishes)))


@junto.command(short_help="Search documents, notes and conversations.")
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_settings
def search(
    query: tuple[str, ...], limit: int, config: Path | None, log_level: str | None, *, as_json: bool
) -> None:
    """Search what was indexed, notes and conversations, by words and by meaning.

    Filters stand among the words: source:notes (or documents, conversations, system, which is
    Junto's own manual), type:pdf, path:docs, after:2026-01-31, before:2026-12-31.
    """
    from junto.cli import searching

    searching.search(loaded_with(config, log_level), " ".join(query), limit, as_json=as_json)
