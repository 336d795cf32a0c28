"""Encoding of documents, passages and index statistics as database rows."""

import json
from typing import Any

from junto.domain.documents import (
    Document,
    DocumentEntry,
    IndexedState,
    IndexStats,
    Passage,
    Source,
    Span,
    UnindexedMessage,
)
from junto.domain.messages import Message, Role
from junto.storage.message_json import decode_parts
from junto.storage.values import Row, clean_text
from junto.text.tokenizer import split_dense_scripts

DOCUMENT_COLUMNS = (
    "id", "owner", "source", "url", "title", "kind", "digest", "size", "modified", "indexed",
    "length", "folder", "message",
)  # fmt: skip
# Columns of a document `d`. A message has the title of its conversation `s`.
DOCUMENT_SELECT = ", ".join(f"d.{name}" for name in DOCUMENT_COLUMNS if name != "title") + (
    ", coalesce(s.title, d.title) AS title"
)
# Joins a document `d` with its message `m` and conversation `s`: a message is visible only while
# its conversation is.
MESSAGE_JOINS = """
LEFT JOIN messages m ON m.key = d.message LEFT JOIN conversations s ON s.key = m.conversation
"""
_MAX_MESSAGE_CHARS = 200_000
_MAX_HEADING_CHARS = 400


def encode_document(document: Document) -> dict[str, Any]:
    """Return a document as a row."""
    row = {name: getattr(document, name) for name in DOCUMENT_COLUMNS}
    texts = {"title": clean_text(document.title), "url": clean_text(document.url)}
    return row | texts | {"source": document.source.value}


def decode_document(row: Row) -> Document:
    """Return the document in a row."""
    return Document(
        **{name: row[name] for name in DOCUMENT_COLUMNS} | {"source": Source(row["source"])}
    )


def decode_indexed_state(row: Row) -> IndexedState:
    """Return the indexed state in a document's row."""
    names = ("id", "digest", "size", "modified", "indexed")
    return IndexedState(*(row[name] for name in names))


def encode_passage(entry: DocumentEntry, span: Span) -> dict[str, Any]:
    """Return a passage as a row: its position, and its heading and words as they are searched."""
    # Messages are found by their text only: with the title, all of a conversation would match.
    headings = () if entry.document.message is not None else (entry.document.title, *span.headings)
    return {
        "begins": span.start,
        "ends": span.end,
        "path": json.dumps([clean_text(heading) for heading in span.headings]),
        "heading": split_dense_scripts(
            clean_text(" > ".join(dict.fromkeys(headings))[:_MAX_HEADING_CHARS])
        ),
        "words": split_dense_scripts(clean_text(entry.text[span.start : span.end])),
    }


def decode_passage(row: Row) -> Passage:
    """Return the passage in a row, with its document."""
    return Passage(
        key=row["key"],
        document=decode_document(row),
        start=row["begins"],
        end=row["ends"],
        headings=tuple(json.loads(row["path"])),
        text=row["text"],
        role=row["role"],
        position=row["position"],
        conversation=row["conversation_id"],
    )


def decode_unindexed_message(row: Row) -> UnindexedMessage:
    """Return the message in a row."""
    message = Message(Role(row["role"]), decode_parts(json.loads(row["parts"])))
    return UnindexedMessage(
        key=row["key"],
        owner=row["owner"],
        conversation=row["conversation_id"],
        position=row["position"],
        role=row["role"],
        at=row["at"],
        text=clean_text(message.text[:_MAX_MESSAGE_CHARS]),
    )


def decode_index_stats(row: Row) -> IndexStats:
    """Return the index statistics in a row."""
    return IndexStats(
        source=Source(row["source"]),
        documents=row["documents"],
        passages=row["passages"],
        characters=row["characters"],
    )
