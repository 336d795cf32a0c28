"""Definitions of `junto index` and `search`."""

import sys
from pathlib import Path
from typing import Any

import click

from junto.cli.completion_values import complete_path
from junto.cli.options import json_option, junto, load_command_settings, with_settings

_STORAGE_FILES = {"state_directory": "has junto.db, where all of it is kept; database.url wins"}


@junto.command(
    short_help="Make files, folders and pages searchable.",
    heading="Know",
    examples={
        "junto index ~/notes 'papers/*.pdf'": "A folder, and the files of a pattern:",
        "junto index --watch docs": "A folder, and what changes in it from now on:",
        "junto index --note 'The gate code is 4711.'": "A note:",
        "junto index --remove docs": "Forget what was read there:",
    },
    files=_STORAGE_FILES,
    exits={"1": "something that was named could not be read, or nothing was removed"},
    see=("junto search",),
)
@click.argument(
    "what",
    nargs=-1,
    metavar="[PATH | PATTERN | URL | -]...",
    help="What to read; - is a note from a pipe. With --remove also ids.",
    shell_complete=complete_path,
)
@click.option("--note", metavar="TEXT", help="Keep this note.")
@click.option(
    "--title", metavar="TEXT", help="What a note is called; one of the same title is replaced."
)
@click.option("--shared", is_flag=True, help="For every caller of this server, not just you.")
@click.option("--remove", is_flag=True, help="Remove what was indexed instead of adding it.")
@click.option("--watch", is_flag=True, help="Go on, and index what changes.")
@click.option("--words-only", is_flag=True, help="Words now; a running server adds the meaning.")
@click.option("--list", "listed", is_flag=True, help="List the documents and notes there are.")
@json_option
@with_settings
def index(
    what: tuple[str, ...], config: Path | None, log_level: str | None, **options: Any
) -> None:
    """Make files, folders and pages of the web searchable; without any, count what there is.

    A second run reads only what has changed and removes what is gone. What .gitignore names, links,
    binary files and files that are named like secrets are left out. What is read stays here, unless
    a provider's embeddings or a database elsewhere are configured.
    """
    from junto.cli import index
    from junto.cli.index import IndexOptions

    sys.exit(
        index.run_index(
            load_command_settings(config, log_level), IndexOptions(inputs=what, **options)
        )
    )


@junto.command(
    short_help="Search documents, notes and conversations.",
    heading="Know",
    examples={
        "junto search how do I renew the certificate": "What fits best, by words and by meaning:",
        "junto search type:pdf path:papers attention": "Only in certain documents:",
        "junto search source:system retention": "In Junto's own manual:",
    },
    files=_STORAGE_FILES,
    exits={"1": "nothing was found"},
    see=("junto index", "junto conversations search"),
)
@click.argument("query", nargs=-1, required=True, help="Words, and filters among them.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    help="At most so many.",
)
@json_option
@with_settings
def search(
    query: tuple[str, ...], limit: int, config: Path | None, log_level: str | None, *, as_json: bool
) -> None:
    """Search what was indexed, notes and conversations, by words and by meaning.

    Filters stand among the words: source:notes (or documents, conversations, system, which is
    Junto's own manual), type:pdf, path:docs, after:2026-01-31, before:2026-12-31.
    """
    from junto.cli import search

    search.search(load_command_settings(config, log_level), " ".join(query), limit, as_json=as_json)
