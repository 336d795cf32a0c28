"""`junto install` and `junto uninstall`: our entry in the configuration of other programs."""

import shlex
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from junto.cli.clients.entries import Entry, installed, uninstalled
from junto.cli.clients.files import Change, change
from junto.cli.clients.forms import UnchangeableError, UnreadableError
from junto.cli.clients.known import CLIENTS, Client, Scope
from junto.cli.clients.machine import Machine
from junto.cli.writing import say
from junto.domain.errors import ConfigurationError, InputOutputError, JuntoError, NotFoundError
from junto.settings.tree import Http

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to be told apart, not listened on


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Which clients, where in their configuration, and under which name."""

    clients: tuple[str, ...]
    every: bool
    scope: Scope
    name: str


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client reaches Junto: by the words of a command, or at the address of a server."""

    words: tuple[str, ...]
    url: str = ""

    def entry(self, client: Client) -> Entry:
        """Return what to tell a client.

        Raises:
            ConfigurationError: the client does not connect to addresses in its file.
        """
        if not self.url:
            return client.stdio(self.words)
        if client.http is None:
            raise ConfigurationError(
                f"{client.title} only starts servers itself: leave out --http for it."
            )
        return client.http(self.url)

    def told(self) -> str:
        """Return a sentence about what happens from now on."""
        if self.url:
            return f"It connects to {self.url}, so `junto start` or `junto serve` must run."
        return f"It starts `{shlex.join(self.words)}`."


def command(config: Path | None) -> tuple[str, ...]:
    """Return the words that start this very Junto on standard input and output."""
    name = "junto.exe" if sys.platform == "win32" else "junto"
    folders = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent))
    programs = [Path(folder) / name for folder in folders]
    found = next((str(program) for program in programs if program.is_file()), None)
    chosen = ("--config", str(config.absolute())) if config else ()
    return (*((found,) if found else (sys.executable, "-P", "-m", "junto")), "mcp", *chosen)


def address(http: Http) -> str:
    """Return where `junto serve` is to be found with these settings.

    Raises:
        ConfigurationError: it is somewhere else each time.
    """
    if not http.port:
        raise ConfigurationError("http.port is 0, so the address is never the same: set a port.")
    host = _ANYWHERE.get(http.host.strip("[]"), http.host.strip("[]"))
    return f"http://{f'[{host}]' if ':' in host else host}:{http.port}/mcp"


def show(machine: Machine, wishes: Wishes, launch: Launch) -> None:
    """Print what would be written: data to standard output, where it goes to standard error."""

    def shown(client: Client, file: Path) -> None:
        entry = launch.entry(client).whole()
        say(f"{client.title}, in {file}:")
        click.echo(client.form.put("", (client.section, wishes.name), entry), nl=False)

    _each(machine, wishes, shown)


def install(machine: Machine, wishes: Wishes, launch: Launch) -> None:
    """Write our entry into each client's configuration, and say what to do next."""

    def written(client: Client, file: Path) -> None:
        entry = launch.entry(client)
        made = _changed(
            client,
            file,
            lambda text: installed(client.form, text, client.section, wishes.name, entry),
            f"`junto install {client.name} --print` shows what to add by hand.",
        )
        if not made.made:
            say(f"{client.title}: already there, in {file}.")
            return
        say(f"{client.title}: wrote `{wishes.name}` to {file}.{_kept(made)}")
        then = (client.then, client.then_in_project if wishes.scope == "project" else "")
        say(" ".join(("   ", launch.told(), *filter(None, then))))

    _each(machine, wishes, written)


def uninstall(machine: Machine, wishes: Wishes) -> None:
    """Take our entry out of each client's configuration, and leave everything else."""

    def removed(client: Client, file: Path) -> None:
        made = _changed(
            client,
            file,
            lambda text: uninstalled(client.form, text, client.section, wishes.name),
            "If it should go, take it out by hand.",
        )
        if not made.made:
            say(f"{client.title}: there is no `{wishes.name}` in {file}.")
            return
        say(f"{client.title}: took `{wishes.name}` out of {file}.{_kept(made)}")
        say(f"    Restart {client.title} to let go of it.")

    _each(machine, wishes, removed)


def _kept(made: Change) -> str:
    return f" The file as it was is {made.backup}." if made.backup else ""


def _changed(client: Client, file: Path, edit: Callable[[str], str], by_hand: str) -> Change:
    """Change a client's file, and say what to do if that cannot be."""
    try:
        return change(file, edit)
    except UnreadableError as error:
        raise InputOutputError(
            f"{file} is not valid {client.form.title}, so it is left alone: line {error.line}, "
            f"column {error.column}: {error.reason}. Mend it and try again."
        ) from error
    except UnchangeableError as error:
        raise InputOutputError(f"{file} is left alone: {error}. {by_hand}") from error
    except InputOutputError as error:
        raise InputOutputError(f"{error.message} {by_hand}") from error


def _each(machine: Machine, wishes: Wishes, work: Callable[[Client, Path], None]) -> None:
    """Do the work for every client that is wished for; one that fails does not stop the others."""
    chosen = _chosen(wishes)
    done, failed = 0, 0
    for client in chosen:
        try:
            work(client, _file(machine, wishes, client))
            done += 1
        except (ConfigurationError, NotFoundError) as error:
            if not wishes.every:
                raise
            say(f"{client.title}: skipped. {error.message}")
        except JuntoError as error:
            if len(chosen) == 1:
                raise
            failed += 1
            say(f"{client.title}: {error.message}")
    if failed:
        raise InputOutputError(f"{failed} of {failed + done} failed; the reasons stand above.")
    if not done:
        raise NotFoundError("None of the clients is here. Name one to set it up all the same.")


def _chosen(wishes: Wishes) -> Sequence[Client]:
    if wishes.every:
        return CLIENTS
    known = {client.name: client for client in CLIENTS}
    for name in wishes.clients:
        if name not in known:
            raise click.UsageError(f"There is no client {name!r}: take one of {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys(wishes.clients)]


def _file(machine: Machine, wishes: Wishes, client: Client) -> Path:
    """Return the file to change.

    Raises:
        ConfigurationError: the client has none for this scope.
        NotFoundError: all clients are wished for, and this one is not on the machine.
    """
    home, file = client.home(machine), client.file(machine, wishes.scope)
    if wishes.every and not (home.is_dir() or client.user(machine).is_file()):
        raise NotFoundError(f"There is no {home}.")
    if file is None:
        raise ConfigurationError(f"{client.title} knows no projects: leave out --scope for it.")
    return file
