"""`junto chat`, `models`, `usage` and `conversations`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from junto.cli.options import F, as_json, junto, loaded_with, with_settings
from junto.cli.values import conversation_ids, model_ids
from junto.domain.errors import InvalidInputError

_KEPT = {"state_directory": "has junto.db, where conversations are kept; database.url wins"}


@junto.command(
    short_help="Talk with a model in the terminal.",
    heading="Talk",
    examples={
        "junto chat": "Talk for as long as you like; /help shows what else there is:",
        'junto chat "Why is the sky blue?"': "Ask once; the answer is printed as it comes:",
        'git diff | junto chat "Review this."': "What comes through a pipe is added:",
        'junto chat --continue "And at night?"': "Go on with the latest conversation:",
    },
    files={**_KEPT, "chat_history": "beside it, has the lines you typed"},
    see=("junto models", "junto conversations"),
)
@click.argument("message", nargs=-1, help="What to ask. Without it, you talk line by line.")
@click.option(
    "-m",
    "--model",
    metavar="ID",
    help="The model to ask.  [default: default_model]",
    shell_complete=model_ids,
)
@click.option(
    "-c",
    "--conversation",
    metavar="ID",
    help="Go on with this conversation.",
    shell_complete=conversation_ids,
)
@click.option("--continue", "latest", is_flag=True, help="Go on with the latest conversation.")
@click.option(
    "--system", metavar="TEXT", help="Who the model should be.  [default: answers.system]"
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(1),
    help="The longest answer, in tokens.  [default: answers.max_tokens]",
)
@click.option(
    "--temperature",
    metavar="X",
    type=click.FloatRange(0, 2),
    help="How freely it chooses words.  [default: answers.temperature]",
)
@click.option(
    "--reasoning",
    type=click.Choice(["low", "medium", "high"]),
    help="How long it thinks before it answers.  [default: as the model likes]",
)
@click.option(
    "--seed", metavar="N", type=int, help="The same seed gives the same answer, where supported."
)
@with_settings
def chat(
    message: tuple[str, ...], config: Path | None, log_level: str | None, **wishes: Any
) -> None:
    """Talk with a model in the terminal.

    With MESSAGE or a pipe it asks once and prints the answer as it comes; otherwise it talks until
    Ctrl-D. The answer goes to standard output; in a terminal, what it cost and its id go to
    standard error. All is kept as a conversation, which any client of yours can go on with.
    """
    from junto.cli.chat import Wishes
    from junto.cli.chat import chat as answer
    from junto.domain.questions import Effort

    effort = wishes.pop("reasoning")
    chosen = Wishes(**wishes, reasoning=Effort(effort) if effort else None)
    answer(loaded_with(config, log_level), " ".join(message), chosen)


@junto.command(
    short_help="List the models that can be asked.",
    heading="Talk",
    examples={
        "junto models": "Every model that can be asked:",
        "junto models haiku": "Those with a word in their names:",
        "junto models --refresh --json": "What the providers list now, for a program:",
    },
    files={"state_directory": "has models/, the providers' lists as they were last read"},
    exits={"1": "no model fits"},
    see=("junto chat", "junto config show"),
)
@click.argument("text", required=False, help="Only those with this in their names.")
@click.option("--refresh", is_flag=True, help="Ask the providers for their lists first.")
@as_json
@with_settings
def models(
    text: str | None, config: Path | None, log_level: str | None, *, refresh: bool, as_json: bool
) -> None:
    """List the models that can be asked, with windows and prices; * marks the default.

    WINDOW is how many tokens a question and its answer may have together; prices are for a million
    tokens, and ? is a price that is not known. A provider whose key is set is listed by itself;
    its own list is kept for a day, and without a network.
    """
    from junto.cli.models import models as listed

    listed(loaded_with(config, log_level), text, refresh=refresh, as_json=as_json)


@junto.command(
    short_help="Show what was used, and what it cost.",
    heading="Talk",
    examples={
        "junto usage": "The last thirty days, by day, model and tool:",
        "junto usage --since today --by model": "Which models were asked today:",
        "junto usage --since 2026-11-01 --csv > usage.csv": "For a spreadsheet:",
    },
    files=_KEPT,
    see=("junto models",),
)
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
@click.option("--json", "form", flag_value="json", help="Print JSON, for programs.")
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


@junto.group(
    short_help="See, search, branch, keep and delete what was said.",
    heading="Talk",
    examples={
        "junto conversations list": "The latest conversations:",
        "junto conversations search monads": "Where something was said:",
        "junto conversations export > all.jsonl": "Everything, to keep elsewhere:",
    },
    files=_KEPT,
    see=("junto chat", "junto search"),
)
def conversations() -> None:
    """See, search, branch, export and delete what was said.

    A conversation is named by its id, which `list` shows. Conversations that nobody has touched for
    a while are deleted; conversations.retention says after how long.
    """


def _stories(**page: Any) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function one of the commands of `junto conversations`."""

    def made(command: Callable[..., None]) -> click.Command:
        name = command.__name__.removeprefix("conversations_")
        return conversations.command(name, **page)(with_settings(command))

    return made


def _with_limit(most: int, default: int) -> Callable[[F], F]:
    return click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(1, most),
        default=default,
        show_default=True,
        help="At most so many.",
    )


_one = click.argument(
    "conversation_id",
    metavar="ID",
    help="The conversation, as `list` shows it.",
    shell_complete=conversation_ids,
)


@_stories(
    short_help="List conversations, the latest first.",
    examples={
        "junto conversations list": "The latest twenty:",
        "junto conversations list sky --limit 100": "Those with a word in their title:",
    },
    see=("junto conversations show",),
)
@click.argument("text", required=False, help="Only those with this in their title.")
@_with_limit(1000, 20)
@as_json
def conversations_list(text: str | None, limit: int, *, as_json: bool, **settings: Any) -> None:
    """List conversations, the latest first, with their ids."""
    from junto.cli import conversations

    conversations.listed(loaded_with(**settings), text, limit, as_json=as_json)


@_stories(
    short_help="Show what was said in a conversation.",
    examples={
        "junto conversations show ID": "All of it, as Markdown:",
        "junto conversations show ID | less": "Page by page:",
    },
    exits={"1": "there is no such conversation"},
    see=("junto conversations export",),
)
@_one
@as_json
def conversations_show(conversation_id: str, *, as_json: bool, **settings: Any) -> None:
    """Show what was said in a conversation, as Markdown, or as one line of JSON."""
    from junto.cli import conversations

    conversations.shown(loaded_with(**settings), conversation_id, as_json=as_json)


@_stories(
    short_help="Search everything that was said.",
    examples={
        "junto conversations search blue sky": "What fits these words best:",
        "junto conversations search after:2026-01-31 sky": "Only what was said since a day:",
    },
    exits={"1": "nothing was found"},
    see=("junto search",),
)
@click.argument("query", nargs=-1, required=True, help="Words, and filters such as after:DATE.")
@_with_limit(100, 10)
@as_json
def conversations_search(
    query: tuple[str, ...], limit: int, *, as_json: bool, **settings: Any
) -> None:
    """Search everything that was said, by words and by meaning, the best first."""
    from junto.cli import conversations

    conversations.searched(loaded_with(**settings), " ".join(query), limit, as_json=as_json)


@_stories(
    short_help="Branch off from a conversation.",
    examples={
        "junto conversations fork ID": "Share all of it:",
        "junto conversations fork ID --at 2": "Share the first question and its answer:",
    },
    exits={"1": "there is no such conversation, or it is shorter"},
    see=("junto chat -c ID",),
)
@_one
@click.option(
    "--at", metavar="N", type=click.IntRange(0), help="Share only so many messages.  [default: all]"
)
def conversations_fork(conversation_id: str, at: int | None, **settings: Any) -> None:
    """Branch off from a conversation and print the new id; nothing is copied."""
    from junto.cli import conversations

    conversations.forked(loaded_with(**settings), conversation_id, at)


@_stories(
    short_help="Print one conversation, or all of them.",
    examples={
        "junto conversations export > all.jsonl": "Everything, with its branches:",
        "junto conversations export ID --format markdown": "One of them, to read:",
    },
    see=("junto conversations import",),
)
@click.argument(
    "conversation_id",
    metavar="[ID]",
    required=False,
    help="One conversation.  [default: all]",
    shell_complete=conversation_ids,
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="Lines of JSON to keep, or Markdown to read, which is for one.",
)
def conversations_export(conversation_id: str | None, form: str, **settings: Any) -> None:
    """Print one conversation, or all of them, to keep or to read elsewhere.

    All of them keep their branches; `junto conversations import` reads them back.
    """
    from junto.cli import conversations

    conversations.exported(loaded_with(**settings), conversation_id, form)


@_stories(
    short_help="Read back what `export` has written.",
    examples={
        "junto conversations import all.jsonl": "From a file:",
        "junto conversations import < all.jsonl": "From a pipe:",
    },
    exits={"1": "a line is none of ours, or its conversation is there already"},
    see=("junto conversations export",),
)
@click.argument(
    "file",
    type=click.File("r", encoding="utf-8-sig", errors="replace"),
    default="-",
    help="The file, or - for a pipe.  [default: -]",
)
def conversations_import(file: Any, **settings: Any) -> None:
    """Read back what `export` has written, from FILE or a pipe; nothing is written over."""
    from junto.cli import conversations

    conversations.imported(loaded_with(**settings), file)


@_stories(
    short_help="Delete a conversation.",
    examples={
        "junto conversations delete ID": "For good:",
        "junto conversations export ID > kept.jsonl": "To keep it elsewhere first:",
    },
    exits={"1": "there is no such conversation"},
    see=("junto conversations export",),
)
@_one
def conversations_delete(conversation_id: str, **settings: Any) -> None:
    """Delete a conversation for good; its branches stay whole. Nothing is asked first."""
    from junto.cli import conversations

    conversations.deleted(loaded_with(**settings), conversation_id)
