"""The `junto` command group, and the options and settings its commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from junto.cli.help_format import DocumentedGroup
from junto.cli.terminal_text import print_stderr, sanitize
from junto.version import __version__

if TYPE_CHECKING:
    from junto.settings import LoadedSettings

F = TypeVar("F", bound=Callable[..., Any])

# Secrets from the loaded settings, redacted in error messages.
known_secrets: list[str] = []

# The "Files" section in the help of commands that use conversations.
CONVERSATION_FILES = {
    "state_directory": "has junto.db, where conversations are kept; database.url wins"
}
CONFIG_FILE = click.Path(dir_okay=False, path_type=Path)
_CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_LOG_LEVELS = click.Choice(["debug", "info", "warning", "error"])


@click.group(
    cls=DocumentedGroup,
    context_settings=_CONTEXT_SETTINGS,
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
    """Add the options --config and --log-level to a command."""
    for option in (
        click.option(
            "--log-level",
            type=_LOG_LEVELS,
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


def profile_option(command: F) -> F:
    """Add the option --profile to a command."""
    return click.option(
        "--profile",
        type=click.Choice(["full", "council"]),
        help="The tools that the client sees: all, or models, conversations and search only.  "
        "[default: tools.profile]",
    )(command)


def json_option(command: F) -> F:
    """Add the option --json to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        command
    )


def load_command_settings(
    config: Path | None, log_level: str | None = None, *, shared: bool = False, **flags: Any
) -> "LoadedSettings":
    """Load the settings of a command, and remember their secrets for redaction.

    With `shared`, they are those of the background server.
    """
    # Imported here because --help and usage errors need no settings.
    from junto.settings import load_settings
    from junto.settings.render import iter_secrets

    loaded = load_settings({"logging.level": log_level, **flags}, config=config, shared=shared)
    known_secrets.extend(iter_secrets(loaded.settings))
    for notice in loaded.notices:  # may quote a file of somebody else
        print_stderr(f"junto: {sanitize(notice)}")
    return loaded
