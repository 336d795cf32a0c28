"""What a shell may offer for a word of the command line; where something is amiss, nothing.

Nothing here asks the network, makes a file, or waits.
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

_MOST = 50
# bash puts an offer into the line as it is, and runs with Enter what stands there; names come from
# files that may have come with somebody's repository.
_HARMLESS = re.compile(r"[\w.:/@+~-]{1,200}")
CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "gemini", "codex")
_Offers = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]


def _settings(ctx: click.Context) -> "tuple[Settings, Path]":
    """Return the settings that the command would run with, and where their files are."""
    from junto.settings import load
    from junto.settings.places import state_directory

    settings = load(config=ctx.params.get("config")).settings
    return settings, state_directory(settings)


def _offering(found: Callable[[click.Context, str], Iterator[tuple[str, str]]]) -> _Offers:
    """Return what click asks: those that are found and begin as the word does."""

    def offered(
        ctx: click.Context, _param: click.Parameter, word: str
    ) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        with suppress(Exception):  # a word at the prompt is no place for a reason
            offers = (pair for pair in found(ctx, word) if _HARMLESS.fullmatch(pair[0]))
            pairs = [pair for pair in offers if pair[0].startswith(word)]
            return [CompletionItem(value, help=about or None) for value, about in pairs]
        return []

    return offered


@_offering
def model_ids(ctx: click.Context, _word: str) -> Iterator[tuple[str, str]]:
    """Yield the models that can be asked, as far as they are known without asking anybody."""
    from junto.cli.packages import put_off

    put_off(("junto.app",))  # of which only the catalog is needed
    from junto.app.models import catalog_of

    for id_, offer in catalog_of(*_settings(ctx)).offers().items():
        yield id_, offer.route.provider


@_offering
def conversation_ids(ctx: click.Context, word: str) -> Iterator[tuple[str, str]]:
    """Yield the latest conversations, with their titles, if they are in a file."""
    from junto.cli.writing import harmless
    from junto.domain.conversations import LOCAL_OWNER
    from junto.storage.sqlite.glancing import latest

    settings, state = _settings(ctx)
    if settings.database.url is None:
        for id_, title in latest(state / "junto.db", LOCAL_OWNER, word, _MOST):
            yield id_, harmless(" ".join(title.split()))


@_offering
def client_names(ctx: click.Context, _word: str) -> Iterator[tuple[str, str]]:
    """Yield the clients that Junto can be added to, and that were not named already."""
    named = ctx.params.get("clients") or ()
    yield from ((name, "") for name in CLIENTS if name not in named)


@_offering
def command_names(ctx: click.Context, _word: str) -> Iterator[tuple[str, str]]:
    """Yield the commands that may come next after `junto help`."""
    group: click.Command | None = ctx.find_root().command
    for word in ctx.params.get("command") or ():
        group = group.get_command(ctx, word) if isinstance(group, click.Group) else None
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            yield name, command.get_short_help_str(limit=100)


def paths(_ctx: click.Context, _param: click.Parameter, word: str) -> "list[CompletionItem[str]]":
    """Leave it to the shell to offer files and folders."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(word, type="file")]
