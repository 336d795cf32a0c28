"""Shell completion of option and argument values.

Completers do not use the network, create files or block. On any error they return no values.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from junto.settings import Settings

_MAX_CONVERSATIONS = 50
# Bash inserts completions unquoted, and Enter executes them. Names may come from the configuration
# file of an untrusted repository, so values with shell metacharacters are not offered.
_SAFE_VALUE = re.compile(r"[\w.:/@+~-]{1,200}")
CLIENT_NAMES = ("claude-code", "claude-desktop", "cursor", "vscode", "gemini", "codex")
_CompletionCallback = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]


def _load_settings(ctx: click.Context) -> "tuple[Settings, Path]":
    """Return the settings the command would run with, and the state directory."""
    from junto.settings import load_settings
    from junto.settings.paths import resolve_state_dir

    settings = load_settings(config=ctx.params.get("config")).settings
    return settings, resolve_state_dir(settings)


def _completer(
    find_values: Callable[[click.Context, str], Iterator[tuple[str, str]]],
) -> _CompletionCallback:
    """Return a click completion callback for the values that start with the typed word."""

    def complete(
        ctx: click.Context, _param: click.Parameter, word: str
    ) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        with suppress(Exception):  # an error message would corrupt the prompt
            safe = (pair for pair in find_values(ctx, word) if _SAFE_VALUE.fullmatch(pair[0]))
            pairs = [pair for pair in safe if pair[0].startswith(word)]
            return [CompletionItem(value, help=text or None) for value, text in pairs]
        return []

    return complete


@_completer
def complete_model(ctx: click.Context, _word: str) -> Iterator[tuple[str, str]]:
    """Yield the available models, from local data only."""
    from junto.app.models import build_catalog

    for id_, spec in build_catalog(*_load_settings(ctx)).specs().items():
        yield id_, spec.route.provider


@_completer
def complete_conversation(ctx: click.Context, word: str) -> Iterator[tuple[str, str]]:
    """Yield the latest conversations with their titles, if they are stored in SQLite."""
    from junto.cli.terminal_text import sanitize
    from junto.domain.conversations import LOCAL_OWNER
    from junto.storage.sqlite.readonly import list_latest_conversations

    settings, state = _load_settings(ctx)
    if settings.database.url is None:
        for id_, title in list_latest_conversations(
            state / "junto.db", LOCAL_OWNER, word, _MAX_CONVERSATIONS
        ):
            yield id_, sanitize(" ".join(title.split()))


@_completer
def complete_client(ctx: click.Context, _word: str) -> Iterator[tuple[str, str]]:
    """Yield the supported clients that are not on the command line yet."""
    named = ctx.params.get("clients") or ()
    yield from ((name, "") for name in CLIENT_NAMES if name not in named)


@_completer
def complete_command(ctx: click.Context, _word: str) -> Iterator[tuple[str, str]]:
    """Yield the commands that can follow `junto help`."""
    group: click.Command | None = ctx.find_root().command
    for word in ctx.params.get("command") or ():
        group = group.get_command(ctx, word) if isinstance(group, click.Group) else None
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            yield name, command.get_short_help_str(limit=100)


def complete_path(
    _ctx: click.Context, _param: click.Parameter, word: str
) -> "list[CompletionItem[str]]":
    """Let the shell complete files and directories."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(word, type="file")]
