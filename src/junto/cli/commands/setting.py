"""`junto config` and `doctor`."""

import sys
from pathlib import Path

import click

from junto.cli.options import CONFIG_FILE, junto, loaded_with, with_settings


@junto.group()
def config() -> None:
    """See, start and check the configuration."""


@config.command("show")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_settings
def config_show(config: Path | None, log_level: str | None, *, as_json: bool) -> None:
    """Show every setting in force and where it comes from; secrets are masked."""
    from junto.cli.configuration import show

    show(loaded_with(config, log_level), as_json=as_json)


@config.command("init")
@click.option("--path", type=CONFIG_FILE, default=Path("junto.yaml"), show_default=True)
@click.option("--print", "only_print", is_flag=True, help="Show the file instead of writing it.")
def config_init(path: Path, *, only_print: bool) -> None:
    """Write a commented configuration file to start from."""
    from junto.cli.configuration import init

    init(path, only_print=only_print)


@config.command("check")
@with_settings
def config_check(config: Path | None, log_level: str | None) -> None:
    """Read the configuration and say what is wrong with it, if anything is."""
    from junto.cli.configuration import check

    check(loaded_with(config, log_level))


@junto.command(short_help="Check what could be wrong, and how to mend it.")
@click.option("--online", is_flag=True, help="Ask providers whether they accept the keys, too.")
@click.option("-v", "--verbose", is_flag=True, help="Show every value and every tool, too.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_settings
def doctor(config: Path | None, log_level: str | None, **wishes: bool) -> None:
    """Check everything that could be wrong, and say how to mend it.

    Nothing is changed. No provider is asked without --online, and then for what costs nothing. The
    exit code is 0 if all is well or merely to be looked at, 1 if something is broken, and 2 if the
    configuration cannot be used.
    """
    from junto.cli.doctor.visiting import examine

    sys.exit(examine(lambda: loaded_with(config, log_level), config, **wishes))
