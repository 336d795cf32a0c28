"""`junto chat`, `models`, `usage` and `conversations`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from junto.cli.options import junto, loaded_with, with_settings
from junto.domain.errors import InvalidInputError


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
@with_settings
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
    answer(loaded_with(config, log_level), " ".join(message), chosen)


@junto.command(short_help="List the models that can be asked.")
@click.argument("text", required=False)
@click.option("--refresh", is_flag=True, help="Ask the providers for their lists first.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_settings
def models(
    text: str | None, config: Path | None, log_level: str | None, *, refresh: bool, as_json: bool
) -> None:
    """List the models that can be asked, with windows and prices; * marks the default.

    With TEXT, only those with it in their names.
    """
    from junto.cli.models import models as listed

    listed(loaded_with(config, log_level), text, refresh=refresh, as_json=as_json)


@junto.command(short_help="Show what was used, and what it cost.")
@click.option(
    "--by",
    type=click.Choice(["day", "model", "tool", "caller"]),
    help="One table instead of all.",
)
@click.option(
    "--since",
    "window",
    metavar="WINDOW",
    default="30d",
    show_default=True,
    help="From when on: today, a stretch such as 24h, 7d or 4w, or a day such as 2026-11-01.",
)
@click.option("--json", "form", flag_value="json", help="For programs.")
@click.option("--csv", "form", flag_value="csv", help="For spreadsheets; by day unless --by says.")
@with_settings
def usage(
    config: Path | None, log_level: str | None, window: str, by: str | None, form: str | None
) -> None:
    """Show calls, tokens and cost by day, model, tool and caller, and what is left of budgets.

    Calls are those of tools, and of `junto chat`; a model's are the questions that it got. A +
    after a cost says that some questions have no known price.
    """
    from junto.cli.usage import usage as told
    from junto.telemetry.reports import beginning

    try:
        beginning(window, 0)
    except InvalidInputError as error:
        raise click.BadParameter(error.message, param_hint="--since") from None
    told(loaded_with(config, log_level), window, by, form)


@junto.group()
def conversations() -> None:
    """See, search, branch, export and delete what was said."""


def _stories(command: Callable[..., None]) -> click.Command:
    """Make `command` one of `junto conversations`."""
    name = command.__name__.removeprefix("conversations_")
    return conversations.command(name)(with_settings(command))


@_stories
@click.argument("text", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def conversations_list(text: str | None, limit: int, *, as_json: bool, **settings: Any) -> None:
    """List conversations, the latest first; with TEXT, those with it in their title."""
    from junto.cli import conversations

    conversations.listed(loaded_with(**settings), text, limit, as_json=as_json)


@_stories
@click.argument("conversation_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def conversations_show(conversation_id: str, *, as_json: bool, **settings: Any) -> None:
    """Show what was said in a conversation."""
    from junto.cli import conversations

    conversations.shown(loaded_with(**settings), conversation_id, as_json=as_json)


@_stories
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def conversations_search(
    query: tuple[str, ...], limit: int, *, as_json: bool, **settings: Any
) -> None:
    """Search everything that was said."""
    from junto.cli import conversations

    conversations.searched(loaded_with(**settings), " ".join(query), limit, as_json=as_json)


@_stories
@click.argument("conversation_id", metavar="ID")
@click.option("--at", type=click.IntRange(0), help="Share only so many messages.  [default: all]")
def conversations_fork(conversation_id: str, at: int | None, **settings: Any) -> None:
    """Branch off from a conversation and print the new id; nothing is copied."""
    from junto.cli import conversations

    conversations.forked(loaded_with(**settings), conversation_id, at)


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

    conversations.exported(loaded_with(**settings), conversation_id, form)


@_stories
@click.argument("file", type=click.File("r", encoding="utf-8-sig", errors="replace"), default="-")
def conversations_import(file: Any, **settings: Any) -> None:
    """Read back what `export` has written, from FILE or a pipe."""
    from junto.cli import conversations

    conversations.imported(loaded_with(**settings), file)


@_stories
@click.argument("conversation_id", metavar="ID")
def conversations_delete(conversation_id: str, **settings: Any) -> None:
    """Delete a conversation; its branches stay whole."""
    from junto.cli import conversations

    conversations.deleted(loaded_with(**settings), conversation_id)
