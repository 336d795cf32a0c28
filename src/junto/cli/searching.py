"""`junto search`."""

import asyncio
import json

import click

from junto.app import running
from junto.cli.hits import show_hit
from junto.cli.writing import harmless, say
from junto.domain.errors import NotFoundError
from junto.knowledge.service import Found
from junto.settings import Loaded
from junto.tools.knowledge import SearchHit
from junto.tools.tool import LOCAL_CALLER


def search(loaded: Loaded, query: str, limit: int, *, as_json: bool) -> None:
    """Print what fits best, with the part of it that does.

    Raises:
        NotFoundError: nothing does.
    """

    async def work() -> Found:
        async with junto.alone():
            return await junto.knowledge.search.find(LOCAL_CALLER, query, limit)

    with running(loaded, default_level="error") as junto:
        found = asyncio.run(work())
    hits = [SearchHit.of(hit) for hit in found.hits]
    if as_json:
        facts = {"results": [hit.facts() for hit in hits], "note": found.note}
        click.echo(json.dumps(facts, indent=2))
        return
    if not hits:
        raise NotFoundError(found.note or "Nothing was found.")
    for hit in hits:
        show_hit(hit.title, f"{hit.url}  {hit.score:.2f}  [{hit.id}]", hit.snippet)
    if found.note:
        say(harmless(found.note))
