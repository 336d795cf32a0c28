"""Definitions of `junto install` and `uninstall`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from junto.cli.completion_values import CLIENT_NAMES, complete_client
from junto.cli.options import F, junto, load_command_settings, profile_option, with_settings

if TYPE_CHECKING:
    from junto.cli.install import InstallOptions

_CLIENTS_HELP = f"{', '.join(CLIENT_NAMES[:-1])} or {CLIENT_NAMES[-1]}."
_CHANGED_FILES = {
    "the client's file": (
        "gets or loses the entry; `--print` and docs/how-to/clients.md tell where it is"
    ),
    "FILE.junto-backup-TIME": "beside it, is the file as it was",
}


def _with_client_options(command: F) -> F:
    """Add the arguments and options that install and uninstall share."""
    for option in (
        click.option(
            "--name",
            metavar="NAME",
            default="junto",
            show_default=True,
            help="The name of the entry: letters, digits, - and _.",
        ),
        click.option(
            "--scope",
            type=click.Choice(["user", "project"]),
            default="user",
            show_default=True,
            help="For everything you do, or for the project in the current folder alone.",
        ),
        click.option("--all", "every", is_flag=True, help="Every client that is on this machine."),
        click.argument(
            "clients",
            metavar="[CLIENT]...",
            nargs=-1,
            help=_CLIENTS_HELP,
            shell_complete=complete_client,
        ),
    ):
        command = option(command)
    return command


def _build_options(
    clients: tuple[str, ...], name: str, *, all_clients: bool, scope: Any
) -> "InstallOptions":
    from junto.cli.install import InstallOptions

    if all_clients == bool(clients):
        raise click.UsageError("Name a client, such as claude-code, or say --all.")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise click.UsageError("--name takes letters, digits, - and _, and no more than 64.")
    return InstallOptions(clients=clients, all_clients=all_clients, scope=scope, name=name)


@junto.command(
    short_help="Add Junto to Claude, Cursor, VS Code, Gemini CLI or Codex.",
    heading="Connect",
    examples={
        "junto install claude-code": "For everything you do with Claude Code:",
        "junto install cursor --scope project": "For the project in this folder alone:",
        "junto install --all --print": "Show what would be written for every client here:",
        "junto install codex --profile council": "Without local tools and the agent:",
        "junto install vscode --http": "Connect to a running `junto serve` instead:",
    },
    files=_CHANGED_FILES,
    exits={"1": "a file could not be changed, or no client is here"},
    see=("junto uninstall", "junto mcp", "junto doctor"),
)
@_with_client_options
@click.option("--http", "over_http", is_flag=True, help="Connect to a running `junto serve`.")
@profile_option
@click.option("--print", "only_print", is_flag=True, help="Show what would be written, only.")
@with_settings
def install(  # noqa: PLR0913 - one parameter per option
    clients: tuple[str, ...],
    name: str,
    scope: str,
    config: Path | None,
    log_level: str | None,
    *,
    profile: str | None,
    every: bool,
    over_http: bool,
    only_print: bool,
) -> None:
    """Add Junto to the configuration of one or more clients.

    The client then starts this very Junto by itself, on standard input and output; with --http it
    connects to a running `junto serve`, at the host and port of the settings.

    Only the entry is written: other servers, comments and the layout of the file stay. The file as
    it was is kept beside it. What is there already is not written again; an entry of an earlier
    Junto is brought up to date, with whatever you have added to it. A file that is broken or
    read-only is left alone.

    No key is copied. Claude Code, Gemini CLI and Codex pass on those that are set where they are
    started; for the others, write them into Junto's own file (`junto config init`). With --config,
    the client's Junto reads that file.
    """
    from junto.cli import install
    from junto.cli.clients.registry import Platform

    options = _build_options(clients, name, all_clients=every, scope=scope)
    loaded = load_command_settings(config, log_level)
    url = install.build_server_url(loaded.settings.http) if over_http else ""
    if url and profile:
        raise click.UsageError(
            "--profile cannot be used with --http. Set tools.profile in the configuration of the "
            "server."
        )
    transport = install.TransportConfig(install.build_command(config, profile), url)
    action = install.print_entries if only_print else install.install
    action(Platform.current(), options, transport)


@junto.command(
    short_help="Take Junto out of a client again.",
    heading="Connect",
    examples={
        "junto uninstall claude-code": "Out of one client:",
        "junto uninstall --all": "Out of every client that is here:",
    },
    files=_CHANGED_FILES,
    exits={"1": "a file could not be changed, or no client is here"},
    see=("junto install",),
)
@_with_client_options
def uninstall(clients: tuple[str, ...], name: str, scope: str, *, every: bool) -> None:
    """Take Junto out of the configuration of one or more clients.

    Only our entry goes; everything else in the file stays as it is, to the last blank. The file as
    it was is kept beside it. An entry of that name that is not Junto's is left alone.
    """
    from junto.cli import install
    from junto.cli.clients.registry import Platform

    install.uninstall(
        Platform.current(), _build_options(clients, name, all_clients=every, scope=scope)
    )
