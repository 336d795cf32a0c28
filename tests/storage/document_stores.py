"""Document stores on SQLite and PostgreSQL, and entries to fill them with."""

import struct
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from junto.domain.conversations import ConversationStore
from junto.domain.documents import (
    Document,
    DocumentEntry,
    DocumentStore,
    EmbeddingModel,
    SearchIndex,
    Source,
    Span,
    UnindexedMessage,
    VectorStore,
)
from junto.runtime.lazy import Lazy
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from junto.storage.sqlite.documents import SqliteDocuments
from junto.storage.sqlite.search import SqliteSearch
from junto.storage.sqlite.vector_files import VectorFiles
from junto.storage.sqlite.vector_store import SqliteVectors

ME, YOU = "me", "you"
MODEL = EmbeddingModel("test", 3)
# A time after all others.
LATER = 2.0**40


@dataclass(frozen=True, slots=True)
class DocumentStores:
    """The stores of one database that document search uses."""

    documents: DocumentStore
    search: SearchIndex
    vectors: VectorStore
    conversations: ConversationStore


def open_sqlite_stores(
    path: Path | None,
    folder: Path,
    stack: AsyncExitStack,
    *,
    exact_up_to: int = 1000,
    max_ranked: int = 5000,
) -> DocumentStores:
    database = Lazy(lambda: Sqlite.open(path), stack)
    files = VectorFiles(folder / "vectors", exact_up_to)
    return DocumentStores(
        SqliteDocuments(database),
        SqliteSearch(database, lambda: files, max_ranked),
        SqliteVectors(database, lambda: files),
        SqliteConversations(database),
    )


def open_postgres_stores(
    url: str, stack: AsyncExitStack, *, max_ranked: int = 2000
) -> DocumentStores:
    from junto.storage.postgres.conversations import PostgresConversations
    from junto.storage.postgres.database import PostgresDatabase as Postgres
    from junto.storage.postgres.documents import PostgresDocuments
    from junto.storage.postgres.search import PostgresSearch
    from junto.storage.postgres.vector_store import PostgresVectors

    database = Lazy(lambda: Postgres.open(url), stack)
    return DocumentStores(
        PostgresDocuments(database),
        PostgresSearch(database, max_ranked),
        PostgresVectors(database),
        PostgresConversations(database),
    )


def build_entry(id_: str, *texts: str, **overrides: object) -> DocumentEntry:
    """Return a document with one passage per text."""
    fields: dict[str, object] = {
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
    spans, start = [], 0
    for each in texts:
        spans.append(Span(start, start + len(each)))
        start += len(each) + 2
    document = Document(**fields | {"length": len(text)} | overrides)  # type: ignore[arg-type]
    return DocumentEntry(document, text, tuple(spans))


def build_message_entry(message: UnindexedMessage) -> DocumentEntry:
    """Return a message as a document with one passage."""
    return DocumentEntry(
        Document(
            id=f"{message.conversation}.{message.position}",
            owner=message.owner,
            source=Source.CONVERSATIONS,
            url=f"conversation://{message.conversation}#{message.position}",
            title="",
            kind="message",
            digest="",
            size=0,
            modified=message.at,
            indexed=1.0,
            length=len(message.text),
            message=message.key,
        ),
        message.text,
        (Span(0, len(message.text)),),
    )


def build_vector(*numbers: float) -> bytes:
    norm = sum(number * number for number in numbers) ** 0.5
    return struct.pack(f"<{len(numbers)}f", *(number / norm for number in numbers))
