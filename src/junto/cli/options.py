"""The command `junto` itself, and what its commands have in common: options and settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from junto import __version__
from junto.settings import Loaded, load

F = TypeVar("F", bound=Callable[..., Any])

# What must not be shown, as soon as it is known.
known_secrets: list[str] = []

CONFIG_FILE = click.Path(dir_okay=False, path_type=Path)
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_LEVELS = click.Choice(["debug", "info", "warning", "error"])


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, "-V", "--version", message="junto %(version)s")
def junto() -> None:
    """One MCP server that gives any client a council of models with one memory."""


def with_settings(command: F) -> F:
    """Add the options that every command with settings takes."""
    command = click.option("--log-level", type=_LEVELS, help="The least important lines to keep.")(
        command
    )
    told = "The configuration file to read."
    return click.option("--config", type=CONFIG_FILE, help=told)(command)


def loaded_with(config: Path | None, log_level: str | None = None, **flags: Any) -> Loaded:
    """Return the settings that a command runs with."""
    from junto.settings.showing import secrets_in

    loaded = load({"logging.level": log_level, **flags}, config=config)
    known_secrets.extend(secrets_in(loaded.settings))
    return loaded
