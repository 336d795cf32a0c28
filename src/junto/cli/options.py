"""The command `junto` itself, and what its commands have in common: options and settings."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from junto import __version__
from junto.cli.pages import Pages

if TYPE_CHECKING:
    from junto.settings import Loaded

F = TypeVar("F", bound=Callable[..., Any])

# What must not be shown, as soon as it is known.
known_secrets: list[str] = []

# For the pages of help of whatever reads or writes conversations.
KEPT = {"state_directory": "has junto.db, where conversations are kept; database.url wins"}
CONFIG_FILE = click.Path(dir_okay=False, path_type=Path)
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_LEVELS = click.Choice(["debug", "info", "warning", "error"])


@click.group(
    cls=Pages,
    context_settings=_CONTEXT,
    examples={
        'junto chat "Why is the sky blue?"': "Ask a model; with no key, the one that comes along:",
        "junto install claude-code": "Add Junto to a client, which then starts it by itself:",
        "junto serve": "Serve clients that connect over HTTP:",
    },
    exits={
        "0": "fine",
        "1": "failed; the reason is on standard error",
        "2": "a mistake on the command line or in the configuration",
        "130": "stopped by Ctrl-C",
    },
    see=("junto help COMMAND, which tells more of each",),
)
@click.version_option(__version__, "-V", "--version", message="junto %(version)s")
def junto() -> None:
    """One MCP server that gives any client a council of models with one memory.

    Data goes to standard output, talk to standard error. Nothing needs to be configured.
    """


def with_settings(command: F) -> F:
    """Add the options that every command with settings takes."""
    for option in (
        click.option(
            "--log-level",
            type=_LEVELS,
            help="The least important lines to log.  [default: logging.level]",
        ),
        click.option(
            "--config",
            type=CONFIG_FILE,
            help="The configuration file to read.  [default: the one that JUNTO_CONFIG names, or "
            "./junto.yaml and ~/.config/junto/config.yaml]",
        ),
    ):
        command = option(command)
    return command


def as_json(command: F) -> F:
    """Add the option for programs that read what a command prints."""
    told = "Print JSON, for programs."
    return click.option("--json", "as_json", is_flag=True, help=told)(command)


def loaded_with(config: Path | None, log_level: str | None = None, **flags: Any) -> "Loaded":
    """Return the settings that a command runs with."""
    # Not before they are needed: help and a mistake need none.
    from junto.settings import load
    from junto.settings.showing import secrets_in

    loaded = load({"logging.level": log_level, **flags}, config=config)
    known_secrets.extend(secrets_in(loaded.settings))
    return loaded
