"""Definitions of the `junto conversations` commands."""

from collections.abc import Callable
from typing import Any

import click

from junto.cli.completion_values import complete_conversation
from junto.cli.options import (
    CONVERSATION_FILES,
    F,
    json_option,
    junto,
    load_command_settings,
    with_settings,
)


@junto.group(
    short_help="See, search, branch, keep and delete what was said.",
    heading="Talk",
    examples={
        "junto conversations list": "The latest conversations:",
        "junto conversations search monads": "Where something was said:",
        "junto conversations export > all.jsonl": "Everything, to keep elsewhere:",
    },
    files=CONVERSATION_FILES,
    see=("junto chat", "junto search"),
)
def conversations() -> None:
    """See, search, branch, export and delete what was said.

    A conversation is named by its id, which `list` shows. Conversations that nobody has touched for
    a while are deleted; conversations.retention says after how long.
    """


def _conversations_command(**attrs: Any) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that registers a function as a `junto conversations` command."""

    def register(command: Callable[..., None]) -> click.Command:
        name = command.__name__.removeprefix("conversations_")
        return conversations.command(name, **attrs)(with_settings(command))

    return register


def _limit_option(max_limit: int, default: int) -> Callable[[F], F]:
    return click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(1, max_limit),
        default=default,
        show_default=True,
        help="At most so many.",
    )


_conversation_argument = click.argument(
    "conversation_id",
    metavar="ID",
    help="The conversation, as `list` shows it.",
    shell_complete=complete_conversation,
)


@_conversations_command(
    short_help="List conversations, the latest first.",
    examples={
        "junto conversations list": "The latest twenty:",
        "junto conversations list sky --limit 100": "Those with a word in their title:",
    },
    see=("junto conversations show",),
)
@click.argument("text", required=False, help="Only those with this in their title.")
@_limit_option(1000, 20)
@json_option
def conversations_list(text: str | None, limit: int, *, as_json: bool, **settings: Any) -> None:
    """List conversations, the latest first, with their ids."""
    from junto.cli import conversations

    conversations.list_conversations(
        load_command_settings(**settings), text, limit, as_json=as_json
    )


@_conversations_command(
    short_help="Show what was said in a conversation.",
    examples={
        "junto conversations show ID": "All of it, as Markdown:",
        "junto conversations show ID | less": "Page by page:",
    },
    exits={"1": "there is no such conversation"},
    see=("junto conversations export",),
)
@_conversation_argument
@json_option
def conversations_show(conversation_id: str, *, as_json: bool, **settings: Any) -> None:
    """Show what was said in a conversation, as Markdown, or as one line of JSON."""
    from junto.cli import conversations

    conversations.show_conversation(
        load_command_settings(**settings), conversation_id, as_json=as_json
    )


@_conversations_command(
    short_help="Search everything that was said.",
    examples={
        "junto conversations search blue sky": "What fits these words best:",
        "junto conversations search after:2026-01-31 sky": "Only what was said since a day:",
    },
    exits={"1": "nothing was found"},
    see=("junto search",),
)
@click.argument("query", nargs=-1, required=True, help="Words, and filters such as after:DATE.")
@_limit_option(100, 10)
@json_option
def conversations_search(
    query: tuple[str, ...], limit: int, *, as_json: bool, **settings: Any
) -> None:
    """Search everything that was said, by words and by meaning, the best first."""
    from junto.cli import conversations

    conversations.search_conversations(
        load_command_settings(**settings), " ".join(query), limit, as_json=as_json
    )


@_conversations_command(
    short_help="Branch off from a conversation.",
    examples={
        "junto conversations fork ID": "Share all of it:",
        "junto conversations fork ID --at 2": "Share the first question and its answer:",
    },
    exits={"1": "there is no such conversation, or it is shorter"},
    see=("junto chat -c ID",),
)
@_conversation_argument
@click.option(
    "--at", metavar="N", type=click.IntRange(0), help="Share only so many messages.  [default: all]"
)
def conversations_fork(conversation_id: str, at: int | None, **settings: Any) -> None:
    """Branch off from a conversation and print the new id; nothing is copied."""
    from junto.cli import conversations

    conversations.fork_conversation(load_command_settings(**settings), conversation_id, at)


@_conversations_command(
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
    shell_complete=complete_conversation,
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

    conversations.export_conversations(load_command_settings(**settings), conversation_id, form)


@_conversations_command(
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

    conversations.import_conversations(load_command_settings(**settings), file)


@_conversations_command(
    short_help="Delete a conversation.",
    examples={
        "junto conversations delete ID": "For good:",
        "junto conversations export ID > kept.jsonl": "To keep it elsewhere first:",
    },
    exits={"1": "there is no such conversation"},
    see=("junto conversations export",),
)
@_conversation_argument
def conversations_delete(conversation_id: str, **settings: Any) -> None:
    """Delete a conversation for good; its branches stay whole. Nothing is asked first."""
    from junto.cli import conversations

    conversations.delete_conversation(load_command_settings(**settings), conversation_id)
