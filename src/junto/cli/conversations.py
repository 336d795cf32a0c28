"""`junto conversations`: list, show, search, fork, export, import and delete conversations."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

import click

from junto.app.application import build_app
from junto.cli.search import print_hit
from junto.cli.table import print_table
from junto.cli.terminal_text import print_stderr, sanitize_for_stdout
from junto.conversation.export import (
    encode_standalone_line,
    export_lines,
    format_markdown,
    import_from_lines,
)
from junto.conversation.service import Conversations
from junto.domain.conversations import LOCAL_OWNER, Conversation, StoredMessage
from junto.domain.documents import Source
from junto.domain.errors import InvalidInputError, NotFoundError
from junto.knowledge.search import SearchResponse
from junto.settings import LoadedSettings
from junto.tools.summaries import ConversationSummary, HistoryHit

_PAGE_SIZE = 100

T = TypeVar("T")


def _run_with_conversations(
    loaded: LoadedSettings, action: Callable[[Conversations], Awaitable[T]]
) -> T:
    async def run() -> T:
        async with junto.open():
            return await action(junto.conversations)

    with build_app(loaded, default_level="error") as junto:
        return asyncio.run(run())


def list_conversations(
    loaded: LoadedSettings, text: str | None, limit: int, *, as_json: bool
) -> None:
    """Print conversations, latest first."""

    async def fetch(conversations: Conversations) -> list[Conversation]:
        fetched: list[Conversation] = []
        cursor = None
        while len(fetched) < limit:
            count = min(_PAGE_SIZE, limit - len(fetched))
            page = await conversations.require_store().list_conversations(
                LOCAL_OWNER, text, count, cursor
            )
            fetched += page.conversations
            if (cursor := page.cursor) is None:
                break
        return fetched

    found = _run_with_conversations(loaded, fetch)
    if as_json:
        summaries = [
            ConversationSummary.from_conversation(each).model_dump(by_alias=True) for each in found
        ]
        click.echo(json.dumps(summaries, indent=2))
    elif found:
        header = ("ID", "TITLE", "MESSAGES", "MODEL", "UPDATED")
        rows = [header, *(_build_row(each) for each in found)]
        print_table(
            rows,
            align_right=("MESSAGES",),
            shorten=("TITLE",),
            drop=("MODEL", "MESSAGES", "UPDATED"),
        )
    else:
        print_stderr("There are no conversations yet; `junto chat` begins one.")


def _build_row(conversation: Conversation) -> tuple[str, ...]:
    return (
        conversation.id,
        " ".join(conversation.title.split()),
        str(conversation.length),
        conversation.model,
        datetime.fromtimestamp(conversation.updated).astimezone().strftime("%Y-%m-%d %H:%M"),
    )


def show_conversation(loaded: LoadedSettings, conversation_id: str, *, as_json: bool) -> None:
    """Print the messages of a conversation."""
    export_conversations(loaded, conversation_id, "jsonl" if as_json else "markdown")


def search_conversations(loaded: LoadedSettings, query: str, limit: int, *, as_json: bool) -> None:
    """Print the messages that match the query, best match first.

    Raises:
        NotFoundError: no message matches.
    """

    async def find_hits() -> SearchResponse:
        async with junto.open(background=False):
            search, sources = junto.knowledge.search, (Source.CONVERSATIONS,)
            return await search.find(LOCAL_OWNER, query, limit, sources)

    with build_app(loaded, default_level="error") as junto:
        response = asyncio.run(find_hits())
    hits = [HistoryHit.from_hit(hit) for hit in response.hits]
    if as_json:
        click.echo(json.dumps([hit.model_dump(by_alias=True) for hit in hits], indent=2))
        return
    if not hits:
        raise NotFoundError(response.note or "Nothing that was said has these words.")
    for hit in hits:
        print_hit(hit.title, f"{hit.conversation_id}  {hit.role}, {hit.at}", hit.snippet)


def fork_conversation(loaded: LoadedSettings, conversation_id: str, at: int | None) -> None:
    """Fork a conversation and print the id of the fork."""

    async def fork(conversations: Conversations) -> str:
        return (await conversations.fork(LOCAL_OWNER, conversation_id, at)).id

    click.echo(_run_with_conversations(loaded, fork))


def export_conversations(
    loaded: LoadedSettings, conversation_id: str | None, output_format: str
) -> None:
    """Print one conversation, or all of them as JSON lines.

    Raises:
        InvalidInputError: Markdown is requested for all conversations.
    """
    if conversation_id is None and output_format == "markdown":
        raise InvalidInputError("Markdown is for one conversation: name its id.")

    async def export(conversations: Conversations) -> None:
        store = conversations.require_store()
        if conversation_id is None:
            async for line in export_lines(store, LOCAL_OWNER):
                click.echo(line)
            return
        conversation = await conversations.find(LOCAL_OWNER, conversation_id)
        messages = await store.load_messages(LOCAL_OWNER, conversation.id)
        click.echo(
            sanitize_for_stdout(_format_conversation(conversation, messages, output_format)),
            nl=output_format == "jsonl",
        )

    _run_with_conversations(loaded, export)


def _format_conversation(
    conversation: Conversation, messages: tuple[StoredMessage, ...], output_format: str
) -> str:
    return (
        encode_standalone_line(conversation, messages)
        if output_format == "jsonl"
        else format_markdown(conversation, messages)
    )


def import_conversations(loaded: LoadedSettings, lines: Iterable[str]) -> None:
    """Import conversations from exported JSON lines."""

    async def import_lines(conversations: Conversations) -> int:
        return await import_from_lines(conversations.require_store(), LOCAL_OWNER, lines)

    print_stderr(f"Read {_run_with_conversations(loaded, import_lines)} conversations.")


def delete_conversation(loaded: LoadedSettings, conversation_id: str) -> None:
    """Delete a conversation."""

    async def delete(conversations: Conversations) -> Any:
        conversation = await conversations.find(LOCAL_OWNER, conversation_id)
        return await conversations.require_store().delete(LOCAL_OWNER, conversation.id)

    _run_with_conversations(loaded, delete)
    print_stderr(f"Deleted {conversation_id}.")
