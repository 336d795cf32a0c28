"""`junto install` and `junto uninstall`: Junto's entry in the configuration files of clients."""

import shlex
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from junto.cli.clients.config_files import FileChange, edit_file
from junto.cli.clients.entries import McpServerEntry, add_entry, remove_entry
from junto.cli.clients.formats import ConfigEditError, ConfigSyntaxError
from junto.cli.clients.registry import CLIENTS, ClientSpec, InstallScope, Platform
from junto.cli.terminal_text import print_stderr
from junto.domain.errors import ConfigurationError, InputOutputError, JuntoError, NotFoundError
from junto.settings.schema import HttpSettings

_LOOPBACK_FOR_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """The clients to configure, the configuration scope and the name of the entry."""

    clients: tuple[str, ...]
    all_clients: bool
    scope: InstallScope
    name: str


@dataclass(frozen=True, slots=True)
class TransportConfig:
    """How a client reaches Junto: a command to start on stdio, or the URL of an HTTP server."""

    command: tuple[str, ...]
    url: str = ""

    def build_entry(self, client: ClientSpec) -> McpServerEntry:
        """Build the configuration entry for a client.

        Raises:
            ConfigurationError: the client does not support HTTP servers in its file.
        """
        if not self.url:
            return client.build_stdio_entry(self.command)
        if client.build_http_entry is None:
            raise ConfigurationError(
                f"{client.title} only starts servers itself: leave out --http for it."
            )
        return client.build_http_entry(self.url)

    def describe(self) -> str:
        """Return a sentence about how the client connects."""
        if self.url:
            return f"It connects to {self.url}, so `junto start` or `junto serve` must run."
        return f"It starts `{shlex.join(self.command)}`."


def build_command(config_path: Path | None, profile: str | None = None) -> tuple[str, ...]:
    """Return the command that starts this installation of Junto on stdio."""
    name = "junto.exe" if sys.platform == "win32" else "junto"
    directories = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent))
    programs = [Path(directory) / name for directory in directories]
    program = next((str(path) for path in programs if path.is_file()), None)
    config_args = ("--config", str(config_path.absolute())) if config_path else ()
    return (
        *((program,) if program else (sys.executable, "-P", "-m", "junto")),
        "mcp",
        *config_args,
        *(("--profile", profile) if profile else ()),
    )


def build_server_url(http: HttpSettings) -> str:
    """Return the URL of `junto serve` with these settings.

    Raises:
        ConfigurationError: the port is 0, so it differs on each start.
    """
    if not http.port:
        raise ConfigurationError("http.port is 0, so the address is never the same: set a port.")
    host = _LOOPBACK_FOR_WILDCARD.get(http.host.strip("[]"), http.host.strip("[]"))
    return f"http://{f'[{host}]' if ':' in host else host}:{http.port}/mcp"


def print_entries(platform: Platform, options: InstallOptions, transport: TransportConfig) -> None:
    """Print the entries that would be written to standard output, their files to standard error."""

    def print_for_client(client: ClientSpec, path: Path) -> None:
        entry = transport.build_entry(client).to_dict()
        print_stderr(f"{client.title}, in {path}:")
        click.echo(
            client.file_format.set_value("", (client.section, options.name), entry), nl=False
        )

    _for_each_client(platform, options, print_for_client)


def install(platform: Platform, options: InstallOptions, transport: TransportConfig) -> None:
    """Write Junto's entry to each client's configuration, and print the next steps."""

    def write_for_client(client: ClientSpec, path: Path) -> None:
        entry = transport.build_entry(client)
        change = _edit_config_file(
            client,
            path,
            lambda text: add_entry(client.file_format, text, client.section, options.name, entry),
            f"`junto install {client.name} --print` shows what to add by hand.",
        )
        if not change.changed:
            print_stderr(f"{client.title}: already there, in {path}.")
            return
        print_stderr(
            f"{client.title}: wrote `{options.name}` to {path}.{_format_backup_note(change)}"
        )
        steps = (client.next_steps, client.project_next_steps if options.scope == "project" else "")
        print_stderr(" ".join(("   ", transport.describe(), *filter(None, steps))))

    _for_each_client(platform, options, write_for_client)


def uninstall(platform: Platform, options: InstallOptions) -> None:
    """Remove Junto's entry from each client's configuration."""

    def remove_for_client(client: ClientSpec, path: Path) -> None:
        change = _edit_config_file(
            client,
            path,
            lambda text: remove_entry(client.file_format, text, client.section, options.name),
            "If it should go, take it out by hand.",
        )
        if not change.changed:
            print_stderr(f"{client.title}: there is no `{options.name}` in {path}.")
            return
        print_stderr(
            f"{client.title}: took `{options.name}` out of {path}.{_format_backup_note(change)}"
        )
        print_stderr(f"    Restart {client.title} to let go of it.")

    _for_each_client(platform, options, remove_for_client)


def _format_backup_note(result: FileChange) -> str:
    return f" The file as it was is {result.backup}." if result.backup else ""


def _edit_config_file(
    client: ClientSpec, path: Path, edit: Callable[[str], str], manual_hint: str
) -> FileChange:
    """Edit a client's configuration file.

    Raises:
        InputOutputError: the file is invalid or cannot be changed; the message says what to do.
    """
    try:
        return edit_file(path, edit)
    except ConfigSyntaxError as error:
        raise InputOutputError(
            f"{path} is not valid {client.file_format.title}, so it is left alone: "
            f"line {error.line}, column {error.column}: {error.reason}. Mend it and try again."
        ) from error
    except ConfigEditError as error:
        raise InputOutputError(f"{path} is left alone: {error}. {manual_hint}") from error
    except InputOutputError as error:
        raise InputOutputError(f"{error.message} {manual_hint}") from error


def _for_each_client(
    platform: Platform, options: InstallOptions, action: Callable[[ClientSpec, Path], None]
) -> None:
    """Run the action for every selected client; a failure does not stop the others.

    Raises:
        ConfigurationError: a client named by the user cannot be configured.
        NotFoundError: none of the clients is on this machine.
        InputOutputError: the files of some clients could not be changed.
    """
    clients = _select_clients(options)
    done, failed = 0, 0
    for client in clients:
        try:
            action(client, _resolve_config_path(platform, options, client))
            done += 1
        except (ConfigurationError, NotFoundError) as error:
            if not options.all_clients:
                raise
            print_stderr(f"{client.title}: skipped. {error.message}")
        except JuntoError as error:
            if len(clients) == 1:
                raise
            failed += 1
            print_stderr(f"{client.title}: {error.message}")
    if failed:
        raise InputOutputError(f"{failed} of {failed + done} failed; the reasons stand above.")
    if not done:
        raise NotFoundError("None of the clients is here. Name one to set it up all the same.")


def _select_clients(options: InstallOptions) -> Sequence[ClientSpec]:
    if options.all_clients:
        return CLIENTS
    known = {client.name: client for client in CLIENTS}
    for name in options.clients:
        if name not in known:
            raise click.UsageError(f"There is no client {name!r}: take one of {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys(options.clients)]


def _resolve_config_path(platform: Platform, options: InstallOptions, client: ClientSpec) -> Path:
    """Return the configuration file to change.

    Raises:
        ConfigurationError: the client has no file for this scope.
        NotFoundError: all clients are selected, and this one is not on the machine.
    """
    directory, path = client.config_dir(platform), client.config_path(platform, options.scope)
    if options.all_clients and not (
        directory.is_dir() or client.user_config_path(platform).is_file()
    ):
        raise NotFoundError(f"There is no {directory}.")
    if path is None:
        raise ConfigurationError(f"{client.title} knows no projects: leave out --scope for it.")
    return path
