"""Definitions of `junto config`, `trust` and `doctor`."""

import sys
from pathlib import Path

import click

from junto.cli.options import CONFIG_FILE, json_option, junto, load_command_settings, with_settings

_CONFIG_FILES = {
    "./junto.yaml": "read first; unless you trust it, it can only tighten what is in force",
    "~/.config/junto/config.yaml": "read next",
}


@junto.group(
    short_help="See, start and check the configuration.",
    heading="Set up",
    examples={
        "junto config init": "Write a file to start from:",
        "junto config show": "Every setting in force:",
        "junto config check": "Whether it is sound:",
    },
    files=_CONFIG_FILES,
    see=("junto doctor", "docs/reference/settings.md"),
)
def config() -> None:
    """See, start and check the configuration.

    A setting comes from a flag, from its variable (JUNTO_HTTP_PORT for http.port), from a file, or
    it has its default; the first of these wins.
    """


@config.command(
    "show",
    short_help="Show every setting and where it comes from.",
    examples={
        "junto config show": "All of them:",
        "junto config show | grep -v default": "Those that were changed:",
        "junto config show --json": "For a program, with whole values:",
    },
    files=_CONFIG_FILES,
    see=("junto config check",),
)
@json_option
@with_settings
def config_show(config: Path | None, log_level: str | None, *, as_json: bool) -> None:
    """Show every setting in force and where it comes from; secrets are masked."""
    from junto.cli.config import show

    show(load_command_settings(config, log_level), as_json=as_json)


@config.command(
    "init",
    short_help="Write a commented file to start from.",
    examples={
        "junto config init": "In this folder:",
        "junto config init --path ~/.config/junto/config.yaml": "For all that you do:",
        "junto config init --print | less": "Only look at it:",
    },
    exits={"2": "there is a file already; it is left as it is"},
    see=("junto config check", "docs/reference/settings.md"),
)
@click.option(
    "--path",
    type=CONFIG_FILE,
    default=Path("junto.yaml"),
    show_default=True,
    help="The file to write; its folder is made.",
)
@click.option("--print", "only_print", is_flag=True, help="Show the file instead of writing it.")
def config_init(path: Path, *, only_print: bool) -> None:
    """Write a configuration file to start from: every setting with its default, commented out.

    Only you may read it, since keys may end up in it. It is trusted until you change it; then run
    `junto trust`.
    """
    from junto.cli.config import init

    init(path, only_print=only_print)


@config.command(
    "check",
    short_help="Say what is wrong with the configuration.",
    examples={
        "junto config check": "What would be in force here:",
        "junto config check --config new.yaml": "A file before it is used:",
    },
    files=_CONFIG_FILES,
    exits={"2": "it is not sound; the first thing that is wrong is told"},
    see=("junto config show", "junto doctor"),
)
@with_settings
def config_check(config: Path | None, log_level: str | None) -> None:
    """Read the configuration, build everything from it, and say what is wrong, if anything is.

    No model is asked and nothing is opened to the network.
    """
    from junto.cli.config import check

    check(load_command_settings(config, log_level))


@junto.command(
    short_help="Trust the configuration file of a folder.",
    heading="Set up",
    examples={
        "junto trust": "The junto.yaml in this folder, as it is now:",
        "junto trust --list": "Which files are trusted:",
        "junto trust --remove": "Stop trusting it:",
    },
    files={"~/.config/junto/trusted.json": "the trusted files, each with the hash of its content"},
    exits={"2": "the file is missing or not valid"},
    see=("junto config show", "docs/explanation/security.md"),
)
@click.argument("path", type=CONFIG_FILE, default=Path("junto.yaml"), help="The file.")
@click.option("--remove", is_flag=True, help="Stop trusting the file.")
@click.option("--list", "only_list", is_flag=True, help="Show the trusted files.")
def trust(path: Path, *, remove: bool, only_list: bool) -> None:
    """Trust a configuration file with exactly the content that it has now.

    A junto.yaml that Junto finds in the folder where it is started may come from somebody else.
    Until you trust it, it can only tighten what is in force. Trust ends when the file changes.
    """
    from junto.cli import config

    if only_list:
        config.list_trusted()
    else:
        config.trust(path, remove=remove)


@junto.command(
    short_help="Check what could be wrong, and how to mend it.",
    heading="Set up",
    examples={
        "junto doctor": "One line for each check, with the fix:",
        "junto doctor --online": "Ask the providers whether they accept their keys, too:",
        "junto doctor --json": "For a program, or to send to somebody:",
    },
    exits={"1": "something is broken", "2": "the configuration cannot be used"},
    see=("junto config check", "junto status"),
)
@click.option("--online", is_flag=True, help="Ask providers whether they accept the keys, too.")
@click.option("-v", "--verbose", is_flag=True, help="Show every value and every tool, too.")
@json_option
@with_settings
def doctor(config: Path | None, log_level: str | None, **options: bool) -> None:
    """Check everything that could be wrong, and say how to mend it.

    Nothing is changed. No provider is asked without --online, and then for what costs nothing.
    """
    from junto.cli.doctor.runner import run_doctor

    sys.exit(run_doctor(lambda: load_command_settings(config, log_level), config, **options))
