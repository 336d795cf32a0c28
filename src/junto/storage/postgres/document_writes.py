"""Saving documents to PostgreSQL: many at once, in few statements."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from junto.domain.documents import DocumentEntry
from junto.storage.document_rows import DOCUMENT_COLUMNS, encode_document, encode_passage
from junto.storage.postgres.document_sql import split_text
from junto.storage.postgres.word_counts import build_owner_term
from junto.storage.values import clean_text
from junto.text.tokenizer import normalize_words

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_COLUMN_TYPES = {
    "size": "bigint",
    "modified": "double precision",
    "indexed": "double precision",
    "length": "bigint",
    "message": "bigint",
}
# A locked message is being deleted or indexed by another transaction. It is skipped: there is
# nothing to do here, and waiting for the lock could deadlock.
_MARK_SEARCHABLE = """
WITH free AS MATERIALIZED (
    SELECT key FROM messages WHERE key = ANY(%s) FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE messages SET searchable = true FROM free WHERE messages.key = free.key
RETURNING messages.key
"""
_DOCUMENT_ARRAYS = ", ".join(
    f"%({name})s::{_COLUMN_TYPES.get(name, 'text')}[]" for name in DOCUMENT_COLUMNS
)
_UPSERT_DOCUMENTS = f"""
INSERT INTO documents ({", ".join(DOCUMENT_COLUMNS)})
SELECT * FROM unnest({_DOCUMENT_ARRAYS})
ON CONFLICT (owner, id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in DOCUMENT_COLUMNS)}
RETURNING key, owner, id
"""
_UPSERT_TEXTS = """
INSERT INTO texts (document, part, text)
SELECT * FROM unnest(%(document)s::bigint[], %(part)s::integer[], %(text)s::text[])
ON CONFLICT (document, part) DO UPDATE SET text = excluded.text WHERE texts.text <> excluded.text
"""
_DELETE_EXTRA_TEXTS = """
DELETE FROM texts USING unnest(%(document)s::bigint[], %(number)s::integer[]) AS new (key, number)
WHERE texts.document = new.key AND texts.part >= new.number
"""
_SELECT_PASSAGES = """
SELECT key, document, digest, begins, ends, path FROM passages
WHERE document = ANY(%s) ORDER BY key DESC
"""
_UPDATE_PASSAGES = """
UPDATE passages SET begins = new.begins, ends = new.ends, path = new.path
FROM unnest(%(key)s::bigint[], %(begins)s::integer[], %(ends)s::integer[], %(path)s::text[])
    AS new (key, begins, ends, path)
WHERE passages.key = new.key
"""
_INSERT_PASSAGES = """
WITH new AS MATERIALIZED (
    SELECT nextval(pg_get_serial_sequence('passages', 'key')) AS key, each.* FROM unnest(
        %(document)s::bigint[], %(name)s::text[], %(begins)s::integer[], %(ends)s::integer[],
        %(path)s::text[], %(heading)s::text[], %(digest)s::bytea[], %(above)s::text[],
        %(words)s::text[]
    ) AS each (document, name, begins, ends, path, heading, digest, above, words)
), added AS (
    INSERT INTO passages (key, document, begins, ends, path, heading, digest)
    SELECT key, document, begins, ends, path, heading, digest FROM new
)
INSERT INTO passage_words (passage, document, words)
SELECT key, document, setweight(to_tsvector('junto', above), 'A')
    || to_tsvector('junto', words) || array_to_tsvector(ARRAY[name])
FROM new
"""
# Per passage: a tsvector is limited to a megabyte, and takes more space than its text.
_MAX_INDEXED_CHARS = 200_000
_POSITION_COLUMNS = ("begins", "ends", "path")


async def save_documents(db: "Connection", entries: Sequence[DocumentEntry]) -> None:
    """Insert or replace documents by id."""
    # Sorted, so that two servers lock rows in the same order and cannot deadlock.
    latest = {(entry.document.owner, entry.document.id): entry for entry in entries}
    present = await _filter_existing(db, [latest[owner_and_id] for owner_and_id in sorted(latest)])
    if not present:
        return
    columns = _to_columns(encode_document(entry.document) for entry in present)
    rows = await (await db.execute(_UPSERT_DOCUMENTS.encode(), columns)).fetchall()
    keys = {(row["owner"], row["id"]): int(row["key"]) for row in rows}
    keyed = [(keys[entry.document.owner, entry.document.id], entry) for entry in present]
    await _save_texts(db, {key: split_text(clean_text(entry.text)) for key, entry in keyed})
    await _save_passages(
        db,
        [key for key, _ in keyed],
        [row for each in keyed for row in _encode_passages(*each)],
    )


async def _filter_existing(
    db: "Connection", entries: Sequence[DocumentEntry]
) -> list[DocumentEntry]:
    """Mark messages as searchable, and return all entries but those of deleted messages."""
    messages = [entry.document.message for entry in entries if entry.document.message is not None]
    if not messages:
        return list(entries)
    rows = await (await db.execute(_MARK_SEARCHABLE, (messages,))).fetchall()
    existing = {None, *(row["key"] for row in rows)}
    return [entry for entry in entries if entry.document.message in existing]


async def _save_texts(db: "Connection", texts: dict[int, list[str]]) -> None:
    """Replace the texts of documents."""
    counts = ({"document": key, "number": len(parts)} for key, parts in texts.items())
    await db.execute(_DELETE_EXTRA_TEXTS, _to_columns(counts))
    rows = [
        {"document": key, "part": number, "text": part}
        for key, parts in texts.items()
        for number, part in enumerate(parts)
    ]
    if rows:
        await db.execute(_UPSERT_TEXTS, _to_columns(rows))


async def _save_passages(
    db: "Connection", document_keys: list[int], rows: list[dict[str, Any]]
) -> None:
    """Replace the passages of documents; those with unchanged words keep their key and vector."""
    old: dict[tuple[int, bytes], list[dict[str, Any]]] = {}
    for row in await (await db.execute(_SELECT_PASSAGES, (document_keys,))).fetchall():
        old.setdefault((row["document"], bytes(row["digest"])), []).append(row)
    new, moved = [], []
    for row in rows:
        unchanged = old.get((row["document"], row["digest"]))
        previous = unchanged.pop() if unchanged else None
        if previous is None:
            new.append(row)
        elif any(previous[name] != row[name] for name in _POSITION_COLUMNS):
            moved.append(row | {"key": previous["key"]})
    removed = [row["key"] for remaining in old.values() for row in remaining]
    if removed:
        await db.execute("DELETE FROM passages WHERE key = ANY(%s)", (removed,))
    if moved:
        await db.execute(_UPDATE_PASSAGES, _to_columns(moved))
    if new:
        await db.execute(_INSERT_PASSAGES, _to_columns(new))


def _encode_passages(document_key: int, entry: DocumentEntry) -> Iterator[dict[str, Any]]:
    for span in entry.spans:
        row = encode_passage(entry, span)
        heading_and_words = f"{row['heading']}\0{row['words']}".encode()
        yield row | {
            "document": document_key,
            "name": build_owner_term(entry.document.owner),
            "digest": hashlib.blake2b(heading_and_words, digest_size=16).digest(),
            "above": normalize_words(row["heading"])[:_MAX_INDEXED_CHARS],
            "words": normalize_words(row["words"])[:_MAX_INDEXED_CHARS],
        }


def _to_columns(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as one array per column, to be passed to `unnest`."""
    all_rows = list(rows)
    return {name: [row[name] for row in all_rows] for name in all_rows[0]}
