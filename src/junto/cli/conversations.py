"""`junto conversations`."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

import click

from junto.app import running
from junto.cli.hits import show_hit
from junto.cli.table import show
from junto.cli.writing import say
from junto.cli.writing import shown as shown_text
from junto.conversation.archive import exported as lines_of
from junto.conversation.archive import flat, markdown
from junto.conversation.archive import imported as read_back
from junto.conversation.service import Conversations
from junto.domain.conversations import Conversation, Said
from junto.domain.documents import Source
from junto.domain.errors import InvalidInputError, NotFoundError
from junto.knowledge.service import Found
from junto.settings import Loaded
from junto.tools.knowledge import HistoryHit
from junto.tools.memory import ListedConversation
from junto.tools.tool import LOCAL_CALLER

_PAGE = 100

T = TypeVar("T")


def _with(loaded: Loaded, work: Callable[[Conversations], Awaitable[T]]) -> T:
    async def done() -> T:
        async with junto.open():
            return await work(junto.conversations)

    with running(loaded, default_level="error") as junto:
        return asyncio.run(done())


def listed(loaded: Loaded, text: str | None, limit: int, *, as_json: bool) -> None:
    """Print conversations, the latest first."""

    async def work(conversations: Conversations) -> list[Conversation]:
        found: list[Conversation] = []
        cursor = None
        while len(found) < limit:
            count = min(_PAGE, limit - len(found))
            page = await conversations.open_store().listed(LOCAL_CALLER, text, count, cursor)
            found += page.conversations
            if (cursor := page.cursor) is None:
                break
        return found

    found = _with(loaded, work)
    if as_json:
        shown = [ListedConversation.of(each).model_dump(by_alias=True) for each in found]
        click.echo(json.dumps(shown, indent=2))
    elif found:
        head = ("ID", "TITLE", "MESSAGES", "MODEL", "UPDATED")
        rows = [head, *(_row(each) for each in found)]
        show(rows, right=("MESSAGES",), shorten=("TITLE",), drop=("MODEL", "MESSAGES", "UPDATED"))
    else:
        say("There are no conversations yet; `junto chat` begins one.")


def _row(conversation: Conversation) -> tuple[str, ...]:
    return (
        conversation.id,
        " ".join(conversation.title.split()),
        str(conversation.length),
        conversation.model,
        datetime.fromtimestamp(conversation.updated).astimezone().strftime("%Y-%m-%d %H:%M"),
    )


def shown(loaded: Loaded, conversation_id: str, *, as_json: bool) -> None:
    """Print what was said in a conversation."""
    exported(loaded, conversation_id, "jsonl" if as_json else "markdown")


def searched(loaded: Loaded, query: str, limit: int, *, as_json: bool) -> None:
    """Print what was found."""

    async def work() -> Found:
        async with junto.alone():
            search, sources = junto.knowledge.search, (Source.CONVERSATIONS,)
            return await search.find(LOCAL_CALLER, query, limit, sources)

    with running(loaded, default_level="error") as junto:
        found = asyncio.run(work())
    hits = [HistoryHit.of(hit) for hit in found.hits]
    if as_json:
        click.echo(json.dumps([hit.model_dump(by_alias=True) for hit in hits], indent=2))
        return
    if not hits:
        raise NotFoundError(found.note or "Nothing that was said has these words.")
    for hit in hits:
        show_hit(hit.title, f"{hit.conversation_id}  {hit.role}, {hit.at}", hit.snippet)


def forked(loaded: Loaded, conversation_id: str, at: int | None) -> None:
    """Branch off, and print the new id."""

    async def work(conversations: Conversations) -> str:
        return (await conversations.fork(LOCAL_CALLER, conversation_id, at)).id

    click.echo(_with(loaded, work))


def exported(loaded: Loaded, conversation_id: str | None, form: str) -> None:
    """Print one conversation, or all of them."""
    if conversation_id is None and form == "markdown":
        raise InvalidInputError("Markdown is for one conversation: name its id.")

    async def work(conversations: Conversations) -> None:
        store = conversations.open_store()
        if conversation_id is None:
            async for line in lines_of(store, LOCAL_CALLER):
                click.echo(line)
            return
        found = await conversations.find(LOCAL_CALLER, conversation_id)
        said = await store.said(LOCAL_CALLER, found.id)
        click.echo(shown_text(_formed(found, said, form)), nl=form == "jsonl")

    _with(loaded, work)


def _formed(conversation: Conversation, said: tuple[Said, ...], form: str) -> str:
    return flat(conversation, said) if form == "jsonl" else markdown(conversation, said)


def imported(loaded: Loaded, lines: Iterable[str]) -> None:
    """Read conversations back."""

    async def work(conversations: Conversations) -> int:
        return await read_back(conversations.open_store(), LOCAL_CALLER, lines)

    say(f"Read {_with(loaded, work)} conversations.")


def deleted(loaded: Loaded, conversation_id: str) -> None:
    """Delete a conversation."""

    async def work(conversations: Conversations) -> Any:
        found = await conversations.find(LOCAL_CALLER, conversation_id)
        return await conversations.open_store().delete(LOCAL_CALLER, found.id)

    _with(loaded, work)
    say(f"Deleted {conversation_id}.")
