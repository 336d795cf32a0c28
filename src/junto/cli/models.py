"""`junto models`."""

import asyncio
import json

import click

from junto.app import running
from junto.app.models import refreshed_lists
from junto.cli.table import show
from junto.cli.writing import say
from junto.domain.errors import NotFoundError
from junto.domain.models import Model
from junto.settings import Loaded
from junto.tools.models import ModelDescription


def models(loaded: Loaded, text: str | None, *, refresh: bool, as_json: bool) -> None:
    """Print the models that can be asked."""
    with running(loaded, default_level="error") as junto:
        catalog = junto.catalog
        if refresh:
            names = tuple(access.provider for access in catalog.accesses)
            for problem in asyncio.run(refreshed_lists(catalog, names)).values():
                say(f"warning: {problem} The list from before is shown.")
        wanted = (text or "").casefold()
        found = [model for model in catalog.models() if wanted in model.id.casefold()]
    if as_json:
        facts = [ModelDescription.of(model) for model in found]
        click.echo(
            json.dumps([f.model_dump(by_alias=True, exclude_none=True) for f in facts], indent=2)
        )
    elif found:
        head = ("MODEL", "PROVIDER", "WINDOW", "$/M IN", "$/M OUT", "ABOUT")
        rows = [head, *(_row(model) for model in found)]
        show(rows, right=("WINDOW", "$/M IN", "$/M OUT"), shorten=("ABOUT",), drop=("ABOUT",))
    else:
        raise NotFoundError("No such model can be asked. `junto doctor` says how to add some.")


def _row(model: Model) -> tuple[str, ...]:
    return (
        f"{model.id} *" if model.default else model.id,
        model.provider,
        f"{model.context_window:,}" if model.context_window else "?",
        f"{model.price.input:g}" if model.price else "?",
        f"{model.price.output:g}" if model.price else "?",
        model.description or "",
    )
