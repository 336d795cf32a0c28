"""A whole store of documents, in each of the databases, for the tests of it."""

import struct
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from junto.domain.conversations import ConversationStore
from junto.domain.documents import (
    Document,
    DocumentStore,
    Entry,
    Model,
    Piece,
    SearchIndex,
    Source,
    Spoken,
    VectorStore,
)
from junto.storage.lazily import Lazily
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import Database as Sqlite
from junto.storage.sqlite.documents import SqliteDocuments
from junto.storage.sqlite.placing import SqliteVectors
from junto.storage.sqlite.searching import SqliteSearch
from junto.storage.sqlite.vectors import VectorFiles

ME, YOU = "me", "you"
MODEL = Model("test", 3)
# After everything.
LATER = 2.0**40


@dataclass(frozen=True, slots=True)
class Library:
    """Everything that one database keeps and finds of documents, and conversations beside them."""

    documents: DocumentStore
    search: SearchIndex
    vectors: VectorStore
    conversations: ConversationStore


def on_sqlite(
    path: Path | None,
    folder: Path,
    stack: AsyncExitStack,
    *,
    exact_up_to: int = 1000,
    most_ranked: int = 5000,
) -> Library:
    file = Lazily(lambda: Sqlite.opened(path), stack)
    files = VectorFiles(folder / "vectors", exact_up_to)
    return Library(
        SqliteDocuments(file),
        SqliteSearch(file, lambda: files, most_ranked),
        SqliteVectors(file, lambda: files),
        SqliteConversations(file),
    )


def on_postgres(url: str, stack: AsyncExitStack, *, most_ranked: int = 2000) -> Library:
    from junto.storage.postgres.conversations import PostgresConversations
    from junto.storage.postgres.database import Database as Postgres
    from junto.storage.postgres.documents import PostgresDocuments
    from junto.storage.postgres.placing import PostgresVectors
    from junto.storage.postgres.searching import PostgresSearch

    server = Lazily(lambda: Postgres.opened(url), stack)
    return Library(
        PostgresDocuments(server),
        PostgresSearch(server, most_ranked),
        PostgresVectors(server),
        PostgresConversations(server),
    )


def entry(id_: str, *texts: str, **more: object) -> Entry:
    """Return a document whose passages are these texts."""
    facts: dict[str, object] = {
        "id": id_,
        "owner": ME,
        "source": Source.DOCUMENTS,
        "url": f"file:///docs/{id_}",
        "title": id_,
        "kind": "text",
        "digest": "d",
        "size": 10,
        "modified": 100.0,
        "indexed": 200.0,
        "folder": "file:///docs",
    }
    text = "\n\n".join(texts)
    pieces, start = [], 0
    for each in texts:
        pieces.append(Piece(start, start + len(each)))
        start += len(each) + 2
    document = Document(**facts | {"length": len(text)} | more)  # type: ignore[arg-type]
    return Entry(document, text, tuple(pieces))


def message_entry(spoken: Spoken) -> Entry:
    """Return a message as a document of one passage."""
    return Entry(
        Document(
            id=f"{spoken.conversation}.{spoken.position}",
            owner=spoken.owner,
            source=Source.CONVERSATIONS,
            url=f"conversation://{spoken.conversation}#{spoken.position}",
            title="",
            kind="message",
            digest="",
            size=0,
            modified=spoken.at,
            indexed=1.0,
            length=len(spoken.text),
            message=spoken.key,
        ),
        spoken.text,
        (Piece(0, len(spoken.text)),),
    )


def vector(*numbers: float) -> bytes:
    length = sum(number * number for number in numbers) ** 0.5
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))
