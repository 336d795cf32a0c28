"""`junto models`: list the available models."""

import asyncio
import json

import click

from junto.app.application import build_app
from junto.app.models import refresh_model_lists
from junto.cli.table import print_table
from junto.cli.terminal_text import print_stderr
from junto.domain.errors import NotFoundError
from junto.domain.models import Model
from junto.settings import LoadedSettings
from junto.tools.summaries import ModelDescription


def print_models(loaded: LoadedSettings, text: str | None, *, refresh: bool, as_json: bool) -> None:
    """Print the available models whose id contains `text`.

    Raises:
        NotFoundError: no model matches.
    """
    with build_app(loaded, default_level="error") as junto:
        catalog = junto.catalog
        if refresh:
            names = tuple(access.provider for access in catalog.provider_accesses)
            for problem in asyncio.run(refresh_model_lists(catalog, names)).values():
                print_stderr(f"warning: {problem} The list from before is shown.")
        needle = (text or "").casefold()
        models = [model for model in catalog.iter_models() if needle in model.id.casefold()]
    if as_json:
        descriptions = [
            ModelDescription.from_model(model).model_dump(by_alias=True, exclude_none=True)
            for model in models
        ]
        click.echo(json.dumps(descriptions, indent=2))
    elif models:
        header = ("MODEL", "PROVIDER", "WINDOW", "$/M IN", "$/M OUT", "ABOUT")
        rows = [header, *(_build_row(model) for model in models)]
        print_table(
            rows, align_right=("WINDOW", "$/M IN", "$/M OUT"), shorten=("ABOUT",), drop=("ABOUT",)
        )
    else:
        raise NotFoundError("No such model can be asked. `junto doctor` says how to add some.")


def _build_row(model: Model) -> tuple[str, ...]:
    return (
        f"{model.id} *" if model.is_default else model.id,
        model.provider,
        f"{model.context_window:,}" if model.context_window else "?",
        f"{model.price.input:g}" if model.price else "?",
        f"{model.price.output:g}" if model.price else "?",
        model.description or "",
    )
