"""Documents and passages as rows, the same in every database."""

import json
from typing import Any

from junto.domain.documents import Document, Entry, Known, Passage, Piece, Source, Spoken, Stock
from junto.domain.messages import Message, Role
from junto.storage.encoding import read_parts
from junto.storage.rows import Row, clean
from junto.storage.words import spread

COLUMNS = (
    "id", "owner", "source", "url", "title", "kind", "digest", "size", "modified", "indexed",
    "length", "folder", "message",
)  # fmt: skip
# A document `d` as it is shown; a message goes by the name of the conversation `s` around it.
SHOWN = ", ".join(f"d.{name}" for name in COLUMNS if name != "title") + (
    ", coalesce(s.title, d.title) AS title"
)
# A message is shown for as long as its conversation is.
AROUND = """
LEFT JOIN messages m ON m.key = d.message LEFT JOIN conversations s ON s.key = m.conversation
"""
_MOST_SPOKEN = 200_000
_LONGEST_HEADING = 400


def document_row(document: Document) -> dict[str, Any]:
    """Return what is kept of a document."""
    row = {name: getattr(document, name) for name in COLUMNS}
    texts = {"title": clean(document.title), "url": clean(document.url)}
    return row | texts | {"source": document.source.value}


def read_document(row: Row) -> Document:
    """Return the document in a row."""
    return Document(**{name: row[name] for name in COLUMNS} | {"source": Source(row["source"])})


def read_known(row: Row) -> Known:
    """Return what a row tells of a document to compare it with."""
    names = ("id", "digest", "size", "modified", "indexed")
    return Known(*(row[name] for name in names))


def piece_row(entry: Entry, piece: Piece) -> dict[str, Any]:
    """Return what is kept of a passage: where it is, and its words as they are searched."""
    # A message is found by what was said; the title of the conversation would be in each.
    above = () if entry.document.message is not None else (entry.document.title, *piece.path)
    return {
        "begins": piece.start,
        "ends": piece.end,
        "path": json.dumps([clean(step) for step in piece.path]),
        "heading": spread(clean(" > ".join(dict.fromkeys(above))[:_LONGEST_HEADING])),
        "words": spread(clean(entry.text[piece.start : piece.end])),
    }


def read_passage(row: Row) -> Passage:
    """Return the passage in a row, with its document."""
    return Passage(
        key=row["key"],
        document=read_document(row),
        start=row["begins"],
        end=row["ends"],
        path=tuple(json.loads(row["path"])),
        text=row["text"],
        role=row["role"],
        position=row["position"],
        conversation=row["conversation_id"],
    )


def read_spoken(row: Row) -> Spoken:
    """Return the message in a row."""
    message = Message(Role(row["role"]), read_parts(json.loads(row["parts"])))
    return Spoken(
        key=row["key"],
        owner=row["owner"],
        conversation=row["conversation_id"],
        position=row["position"],
        role=row["role"],
        at=row["at"],
        text=clean(message.text[:_MOST_SPOKEN]),
    )


def read_stock(row: Row) -> Stock:
    """Return how much of a source a row tells of."""
    return Stock(
        source=Source(row["source"]),
        documents=row["documents"],
        passages=row["passages"],
        characters=row["characters"],
    )
