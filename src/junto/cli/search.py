"""`junto search`: search documents, notes and conversations."""

import asyncio
import json
import sys

import click

from junto.app.application import build_app
from junto.cli.terminal_text import (
    get_max_columns,
    print_stderr,
    sanitize,
    sanitize_for_stdout,
    wrap_text,
)
from junto.domain.conversations import LOCAL_OWNER
from junto.domain.errors import NotFoundError
from junto.knowledge.search import SearchResponse
from junto.settings import LoadedSettings
from junto.tools.summaries import SearchHit


def search(loaded: LoadedSettings, query: str, limit: int, *, as_json: bool) -> None:
    """Print the best matches with a snippet of each.

    Raises:
        NotFoundError: nothing matches.
    """

    async def find_hits() -> SearchResponse:
        async with junto.open(background=False):
            return await junto.knowledge.search.find(LOCAL_OWNER, query, limit)

    with build_app(loaded, default_level="error") as junto:
        response = asyncio.run(find_hits())
    hits = [SearchHit.from_hit(hit) for hit in response.hits]
    if as_json:
        facts = {"results": [hit.to_dict() for hit in hits], "note": response.note}
        click.echo(json.dumps(facts, indent=2))
        return
    if not hits:
        raise NotFoundError(response.note or "Nothing was found.")
    for hit in hits:
        print_hit(hit.title, f"{hit.url}  {hit.score:.2f}  [{hit.id}]", hit.snippet)
    if response.note:
        print_stderr(sanitize(response.note))


def print_hit(title: str, location: str, snippet: str) -> None:
    """Print a search hit: its title, location and snippet."""
    max_columns = get_max_columns(sys.stdout)
    click.secho(wrap_text(sanitize_for_stdout(title), max_columns), bold=True)
    click.secho(wrap_text(sanitize_for_stdout(location), max_columns), dim=True)
    click.echo(wrap_text(sanitize_for_stdout(f"{snippet}\n"), max_columns))
