"""`junto config show`, `init` and `check`."""

import json
import os
from pathlib import Path

import click

from junto.cli.table import show as show_table
from junto.cli.writing import say
from junto.domain.errors import ConfigurationError, InputOutputError
from junto.settings import Loaded
from junto.settings.places import state_directory
from junto.settings.showing import as_facts, shown, spelled, starter_file


def show(loaded: Loaded, *, as_json: bool) -> None:
    """Print every setting, its value and its origin."""
    if as_json:
        click.echo(json.dumps(as_facts(loaded), indent=2))
        return
    body = [
        (row.path, str(row.origin), " ".join(spelled(row.value).split())) for row in shown(loaded)
    ]
    show_table([("SETTING", "FROM", "VALUE"), *body], shorten=("VALUE", "FROM"))
    say(f"Files are kept in {state_directory(loaded.settings)}.")


def init(path: Path, *, only_print: bool) -> None:
    """Write the starter file, unless there is something at `path` already."""
    if only_print:
        click.echo(starter_file(), nl=False)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Keys may end up in it, so it is nobody else's to read.
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        if path.exists():
            raise ConfigurationError(f"{path} exists already and is left as it is.") from None
        raise InputOutputError(f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(starter_file())
    say(f"Wrote {path}. Edit it, then run `junto config check`.")


def check(loaded: Loaded) -> None:
    """Build everything from the configuration, then say that it is sound, or odd.

    Raises:
        ConfigurationError: the settings do not fit together.
    """
    from junto.app import running
    from junto.transport.http import check_host

    with running(loaded, default_level="error") as junto:
        check_host(loaded.settings.http.host)
        warnings = (*loaded.warnings, *junto.catalog.warnings())
    for warning in warnings:
        say(f"warning: {warning}")
    files = ", ".join(str(path) for path in loaded.files) or "no file"
    changed = sum(origin.kind != "default" for origin in loaded.origins.values())
    what = "1 setting" if changed == 1 else f"{changed} settings"
    click.echo(f"The configuration is sound: {what} changed, from {files}.")
