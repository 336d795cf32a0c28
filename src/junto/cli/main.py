"""The commands and their options; what each does is imported when it is called."""

import errno
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from junto import __version__
from junto.cli.packages import put_off
from junto.domain.errors import ConfigurationError, JuntoError
from junto.settings import Loaded, load

if TYPE_CHECKING:
    from junto.cli.background import Wishes as BackgroundWishes
    from junto.cli.install import Wishes
    from junto.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

# What must not be shown, as soon as it is known.
_secrets: list[str] = []

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_LEVELS = click.Choice(["debug", "info", "warning", "error"])
_CONFIG = click.Path(dir_okay=False, path_type=Path)


def run() -> NoReturn:
    """Run the command that the arguments name, and turn a foreseen failure into a sentence."""
    put_off()
    try:
        sys.exit(junto(prog_name="junto", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except JuntoError as error:
        click.echo(f"junto: {_presentable(error.message)}", err=True)
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        # Standard output is full, or nobody reads it any more, as in `junto config show | head`.
        if error.errno == errno.ENOSPC:
            click.echo(f"junto: {error.strerror}", err=True)
        os._exit(1)  # leaving in the ordinary way would write what is left, and fail again


def _presentable(message: str) -> str:
    """Return a message without secrets, and without what would move the cursor."""
    from junto.cli.terminal import harmless
    from junto.security.secrets import Redactor

    return harmless(Redactor(_secrets).text(message))


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, "-V", "--version", message="junto %(version)s")
def junto() -> None:
    """One MCP server that gives any client a council of models with one memory."""


def _with_settings(command: F) -> F:
    """Add the options that every command with settings takes."""
    command = click.option("--log-level", type=_LEVELS, help="The least important lines to keep.")(
        command
    )
    return click.option("--config", type=_CONFIG, help="The configuration file to read.")(command)


def _loaded(config: Path | None, log_level: str | None = None, **flags: Any) -> Loaded:
    from junto.settings.showing import secrets_in

    loaded = load({"logging.level": log_level, **flags}, config=config)
    _secrets.extend(secrets_in(loaded.settings))
    return loaded


def _with_address(command: F) -> F:
    """Add the options that every command about the HTTP server takes."""
    port = click.IntRange(0, 65535)
    for option in (
        click.option("--port", type=port, help="The port; 0 for any.  [default: 32701]"),
        click.option("--host", help="The address to listen on.  [default: 127.0.0.1]"),
    ):
        command = option(command)
    return _with_settings(command)


def _flags(host: str | None, port: int | None, log_level: str | None) -> dict[str, Any]:
    return {"http.host": host, "http.port": port, "logging.level": log_level}


@junto.command(short_help="Serve MCP over HTTP, for clients that connect.")
@click.option("--reload", is_flag=True, help="Begin anew whenever a source or a setting changes.")
@click.option("--background", is_flag=True, hidden=True)
@_with_address
def serve(config: Path | None, *, reload: bool, background: bool, **address: Any) -> None:
    """Serve MCP over HTTP at /mcp, with a page, health and metrics beside it."""
    if reload:
        from junto.cli import reloading

        reloading.serve(_loaded(config, **_flags(**address)).files)
        return
    from junto.cli import http

    flags = _flags(**address)
    loaded = _loaded(config, **flags)
    if background:
        from junto.cli.background import Wishes

        http.serve_in_background(loaded, Wishes.of(config, flags))
    else:
        http.serve(loaded)


def _behind(
    config: Path | None, host: str | None, port: int | None, log_level: str | None
) -> "tuple[Settings, BackgroundWishes]":
    """Return the settings and the wishes for a command about the background server."""
    from junto.cli.background import Wishes

    flags = _flags(host, port, log_level)
    return _loaded(config, **flags).settings, Wishes.of(config, flags)


@junto.command(short_help="Start the HTTP server in the background.")
@_with_address
def start(**wishes: Any) -> None:
    """Start `junto serve` in the background, wait until it answers, and print its address."""
    from junto.cli import background

    background.start(*_behind(**wishes))


@junto.command(short_help="Stop the background server.")
@_with_address
def stop(**wishes: Any) -> None:
    """Stop the background server, once the calls under way are finished."""
    from junto.cli import background

    background.stop(*_behind(**wishes))


@junto.command(short_help="Stop the background server and start it again.")
@_with_address
def restart(**wishes: Any) -> None:
    """Stop the background server and start it again, with the options it had unless given."""
    from junto.cli import background

    background.restart(*_behind(**wishes))


@junto.command(short_help="Tell how the background server is.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_with_address
def status(*, as_json: bool, **wishes: Any) -> int:
    """Tell how the background server is; the exit code is 3 when it does not run."""
    from junto.cli import background

    return background.status(*_behind(**wishes), as_json=as_json)


@junto.command(short_help="Serve MCP on standard input and output.")
@click.option("--shared", is_flag=True, help="By way of the background server, started if need be.")
@_with_settings
def mcp(config: Path | None, log_level: str | None, *, shared: bool) -> None:
    """Serve MCP on standard input and output, for a client that starts this command."""
    loaded = _loaded(config, log_level)
    if shared and sys.platform == "win32":
        click.echo("There is no background server on Windows yet; this one serves alone.", err=True)
    elif shared:
        from junto.cli import shared as sharing

        sharing.serve(loaded, config, log_level)
        return
    from junto.cli import stdio

    stdio.serve(loaded)


@junto.command(short_help="Talk with a model in the terminal.")
@click.argument("message", nargs=-1)
@click.option("-m", "--model", help="The model to ask.  [default: the configured one]")
@click.option("-c", "--conversation", metavar="ID", help="Go on with this conversation.")
@click.option("--continue", "latest", is_flag=True, help="Go on with the latest conversation.")
@click.option("--system", help="Who the model should be.")
@click.option("--max-tokens", type=click.IntRange(1), help="The longest answer.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="How freely it chooses words.")
@click.option("--reasoning", type=click.Choice(["low", "medium", "high"]), help="Think first.")
@click.option("--seed", type=int, help="The same seed gives the same answer, where supported.")
@_with_settings
def chat(
    message: tuple[str, ...], config: Path | None, log_level: str | None, **wishes: Any
) -> None:
    """Talk with a model in the terminal; with MESSAGE, ask once and print the answer as it comes.

    What comes through a pipe is added to MESSAGE: `cat error.log | junto chat "What went wrong?"`
    """
    from junto.cli.chat import Wishes
    from junto.cli.chat import chat as answer
    from junto.domain.questions import Effort

    effort = wishes.pop("reasoning")
    chosen = Wishes(**wishes, reasoning=Effort(effort) if effort else None)
    answer(_loaded(config, log_level), " ".join(message), chosen)


@junto.command(short_help="List the models that can be asked.")
@click.argument("text", required=False)
@click.option("--refresh", is_flag=True, help="Ask the providers for their lists first.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_with_settings
def models(
    text: str | None, config: Path | None, log_level: str | None, *, refresh: bool, as_json: bool
) -> None:
    """List the models that can be asked, with windows and prices; * marks the default.

    With TEXT, only those with it in their names.
    """
    from junto.cli.models import models as listed

    listed(_loaded(config, log_level), text, refresh=refresh, as_json=as_json)


@junto.group()
def conversations() -> None:
    """See, search, branch, export and delete what was said."""


def _stories(command: Callable[..., None]) -> click.Command:
    """Make `command` one of `junto conversations`."""
    name = command.__name__.removeprefix("conversations_")
    return conversations.command(name)(_with_settings(command))


@_stories
@click.argument("text", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def conversations_list(text: str | None, limit: int, *, as_json: bool, **settings: Any) -> None:
    """List conversations, the latest first; with TEXT, those with it in their title."""
    from junto.cli import conversations

    conversations.listed(_loaded(**settings), text, limit, as_json=as_json)


@_stories
@click.argument("conversation_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def conversations_show(conversation_id: str, *, as_json: bool, **settings: Any) -> None:
    """Show what was said in a conversation."""
    from junto.cli import conversations

    conversations.shown(_loaded(**settings), conversation_id, as_json=as_json)


@_stories
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def conversations_search(
    query: tuple[str, ...], limit: int, *, as_json: bool, **settings: Any
) -> None:
    """Search everything that was said."""
    from junto.cli import conversations

    conversations.searched(_loaded(**settings), " ".join(query), limit, as_json=as_json)


@_stories
@click.argument("conversation_id", metavar="ID")
@click.option("--at", type=click.IntRange(0), help="Share only so many messages.  [default: all]")
def conversations_fork(conversation_id: str, at: int | None, **settings: Any) -> None:
    """Branch off from a conversation and print the new id; nothing is copied."""
    from junto.cli import conversations

    conversations.forked(_loaded(**settings), conversation_id, at)


@_stories
@click.argument("conversation_id", metavar="[ID]", required=False)
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True
)
def conversations_export(conversation_id: str | None, form: str, **settings: Any) -> None:
    """Print one conversation, or all of them, to keep or to read elsewhere.

    All of them keep their branches; `junto conversations import` reads them back.
    """
    from junto.cli import conversations

    conversations.exported(_loaded(**settings), conversation_id, form)


@_stories
@click.argument("file", type=click.File("r", encoding="utf-8-sig", errors="replace"), default="-")
def conversations_import(file: Any, **settings: Any) -> None:
    """Read back what `export` has written, from FILE or a pipe."""
    from junto.cli import conversations

    conversations.imported(_loaded(**settings), file)


@_stories
@click.argument("conversation_id", metavar="ID")
def conversations_delete(conversation_id: str, **settings: Any) -> None:
    """Delete a conversation; its branches stay whole."""
    from junto.cli import conversations

    conversations.deleted(_loaded(**settings), conversation_id)


@junto.command(short_help="Make files, folders and pages searchable.")
@click.argument("what", nargs=-1, metavar="[PATH | PATTERN | URL | -]...")
@click.option("--note", metavar="TEXT", help="Keep a note instead of a file.")
@click.option("--title", help="What a note is called; one of the same title is replaced.")
@click.option("--shared", is_flag=True, help="For every caller of this server, not just you.")
@click.option("--remove", is_flag=True, help="Remove what was indexed instead of adding it.")
@click.option("--watch", is_flag=True, help="Go on, and index what changes.")
@click.option("--words-only", is_flag=True, help="Words now; a running server adds the meaning.")
@click.option("--list", "listed", is_flag=True, help="List the documents and notes there are.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_with_settings
def index(what: tuple[str, ...], config: Path | None, log_level: str | None, **wishes: Any) -> None:
    """Make files, folders and pages of the web searchable; without any, show what there is.

    A second run reads only what has changed and removes what is gone. What .gitignore names, links,
    binary files and files that are named like secrets are left out. `-` reads a note from a pipe.
    --remove takes paths, addresses and ids.
    """
    from junto.cli import indexing
    from junto.cli.orders import Order

    sys.exit(indexing.index(_loaded(config, log_level), Order(words=what, **wishes)))


@junto.command(short_help="Search documents, notes and conversations.")
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_with_settings
def search(
    query: tuple[str, ...], limit: int, config: Path | None, log_level: str | None, *, as_json: bool
) -> None:
    """Search what was indexed, notes and conversations, by words and by meaning.

    Filters stand among the words: source:notes (or documents, conversations, system, which is
    Junto's own manual), type:pdf, path:docs, after:2026-01-31, before:2026-12-31.
    """
    from junto.cli import searching

    searching.search(_loaded(config, log_level), " ".join(query), limit, as_json=as_json)


@junto.group()
def config() -> None:
    """See, start and check the configuration."""


@config.command("show")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_with_settings
def config_show(config: Path | None, log_level: str | None, *, as_json: bool) -> None:
    """Show every setting in force and where it comes from; secrets are masked."""
    from junto.cli.configuration import show

    show(_loaded(config, log_level), as_json=as_json)


@config.command("init")
@click.option("--path", type=_CONFIG, default=Path("junto.yaml"), show_default=True)
@click.option("--print", "only_print", is_flag=True, help="Show the file instead of writing it.")
def config_init(path: Path, *, only_print: bool) -> None:
    """Write a commented configuration file to start from."""
    from junto.cli.configuration import init

    init(path, only_print=only_print)


@config.command("check")
@_with_settings
def config_check(config: Path | None, log_level: str | None) -> None:
    """Read the configuration and say what is wrong with it, if anything is."""
    from junto.cli.configuration import check

    check(_loaded(config, log_level))


@junto.command(short_help="Check what could be wrong, and how to mend it.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_with_settings
def doctor(config: Path | None, log_level: str | None, *, as_json: bool) -> None:
    """Check everything that could be wrong, and say how to mend it."""
    from junto.cli.doctor import examine

    sys.exit(examine(lambda: _loaded(config, log_level), config, as_json=as_json))


def _for_clients(command: F) -> F:
    """Add what both commands about clients take."""
    for option in (
        click.option("--name", default="junto", show_default=True, help="The name of the entry."),
        click.option(
            "--scope",
            type=click.Choice(["user", "project"]),
            default="user",
            show_default=True,
            help="For everything you do, or for the project in the current folder alone.",
        ),
        click.option("--all", "every", is_flag=True, help="Every client that is on this machine."),
        click.argument("clients", metavar="[CLIENT]...", nargs=-1),
    ):
        command = option(command)
    return command


def _wishes(clients: tuple[str, ...], name: str, *, every: bool, scope: Any) -> "Wishes":
    from junto.cli.install import Wishes

    if every == bool(clients):
        raise click.UsageError("Name a client, such as claude-code, or say --all.")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise click.UsageError("--name takes letters, digits, - and _, and no more than 64.")
    return Wishes(clients=clients, every=every, scope=scope, name=name)


@junto.command(short_help="Add Junto to Claude, Cursor, VS Code, Gemini CLI or Codex.")
@_for_clients
@click.option("--http", "over_http", is_flag=True, help="Connect to `junto serve` instead.")
@click.option("--print", "only_print", is_flag=True, help="Show what would be written, only.")
@_with_settings
def install(  # noqa: PLR0913 - one for each option
    clients: tuple[str, ...],
    name: str,
    scope: str,
    config: Path | None,
    log_level: str | None,
    *,
    every: bool,
    over_http: bool,
    only_print: bool,
) -> None:
    """Add Junto to the configuration of one or more clients.

    CLIENT is claude-code, claude-desktop, cursor, vscode, gemini or codex. The client then starts
    this very Junto by itself, on standard input and output; with --http it connects to a running
    `junto serve`, at the host and port of the settings.

    Only the entry is written: other servers, comments and the layout of the file stay. The file as
    it was is kept beside it. What is there already is not written again; an entry of an earlier
    Junto is brought up to date, with whatever you have added to it. A file that is broken or
    read-only is left alone.

    No key is copied. Claude Code, Gemini CLI and Codex pass on those that are set where they are
    started; for the others, write them into Junto's own file (`junto config init`). With --config,
    the client's Junto reads that file.
    """
    from junto.cli import install as commands
    from junto.cli.clients.machine import Machine

    wishes = _wishes(clients, name, every=every, scope=scope)
    loaded = _loaded(config, log_level)
    url = commands.address(loaded.settings.http) if over_http else ""
    work = commands.show if only_print else commands.install
    work(Machine.here(), wishes, commands.Launch(commands.command(config), url))


@junto.command(short_help="Take Junto out of a client again.")
@_for_clients
def uninstall(clients: tuple[str, ...], name: str, scope: str, *, every: bool) -> None:
    """Take Junto out of the configuration of one or more clients.

    CLIENT is claude-code, claude-desktop, cursor, vscode, gemini or codex. Only our entry goes;
    everything else in the file stays as it is, to the last blank. The file as it was is kept
    beside it. An entry of that name that is not Junto's is left alone.
    """
    from junto.cli import install as commands
    from junto.cli.clients.machine import Machine

    commands.uninstall(Machine.here(), _wishes(clients, name, every=every, scope=scope))
