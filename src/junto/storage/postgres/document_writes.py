"""How documents are put into PostgreSQL: many at once, in few statements."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from junto.domain.documents import Entry
from junto.storage.document_rows import COLUMNS, document_row, piece_row
from junto.storage.postgres.counting import name_of
from junto.storage.postgres.parts import parts
from junto.storage.rows import clean
from junto.storage.words import plain

if TYPE_CHECKING:
    from junto.storage.postgres.database import Connection

_TYPES = {
    "size": "bigint",
    "modified": "double precision",
    "indexed": "double precision",
    "length": "bigint",
    "message": "bigint",
}
# Whoever has the message is deleting it, or keeps it as well: then there is nothing to do here, and
# to wait for them might be to wait in a circle.
_SAID = """
WITH free AS MATERIALIZED (
    SELECT key FROM messages WHERE key = ANY(%s) FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE messages SET searchable = true FROM free WHERE messages.key = free.key
RETURNING messages.key
"""
_ADD = f"""
INSERT INTO documents ({", ".join(COLUMNS)})
SELECT * FROM unnest({", ".join(f"%({name})s::{_TYPES.get(name, 'text')}[]" for name in COLUMNS)})
ON CONFLICT (owner, id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}
RETURNING key, owner, id
"""
_TEXTS = """
INSERT INTO texts (document, part, text)
SELECT * FROM unnest(%(document)s::bigint[], %(part)s::integer[], %(text)s::text[])
ON CONFLICT (document, part) DO UPDATE SET text = excluded.text WHERE texts.text <> excluded.text
"""
_SHORTER = """
DELETE FROM texts USING unnest(%(document)s::bigint[], %(number)s::integer[]) AS new (key, number)
WHERE texts.document = new.key AND texts.part >= new.number
"""
_OLD = """
SELECT key, document, digest, begins, ends, path FROM passages
WHERE document = ANY(%s) ORDER BY key DESC
"""
_MOVE = """
UPDATE passages SET begins = new.begins, ends = new.ends, path = new.path
FROM unnest(%(key)s::bigint[], %(begins)s::integer[], %(ends)s::integer[], %(path)s::text[])
    AS new (key, begins, ends, path)
WHERE passages.key = new.key
"""
_PIECES = """
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
# Of one passage; a list of words may have a million bytes, and needs more than its text.
_MOST_INDEXED = 200_000
_PLACE = ("begins", "ends", "path")


async def kept(db: "Connection", entries: Sequence[Entry]) -> None:
    """Put documents in, each in the place of the one with its id."""
    # Always in the same order, so that no two servers wait for each other in a circle.
    latest = {(entry.document.owner, entry.document.id): entry for entry in entries}
    present = await _present(db, [latest[place] for place in sorted(latest)])
    if not present:
        return
    rows = _columns(document_row(entry.document) for entry in present)
    added = await (await db.execute(_ADD.encode(), rows)).fetchall()
    keys = {(row["owner"], row["id"]): int(row["key"]) for row in added}
    numbered = [(keys[entry.document.owner, entry.document.id], entry) for entry in present]
    await _written(db, {key: parts(clean(entry.text)) for key, entry in numbered})
    await _cut(db, [key for key, _ in numbered], [row for each in numbered for row in _rows(*each)])


async def _present(db: "Connection", entries: Sequence[Entry]) -> list[Entry]:
    """Return what is no message, or one that is still there and is noted as searchable now."""
    said = [entry.document.message for entry in entries if entry.document.message is not None]
    if not said:
        return list(entries)
    rows = await (await db.execute(_SAID, (said,))).fetchall()
    there = {None, *(row["key"] for row in rows)}
    return [entry for entry in entries if entry.document.message in there]


async def _written(db: "Connection", texts: dict[int, list[str]]) -> None:
    """Replace the texts of documents."""
    numbers = ({"document": key, "number": len(text)} for key, text in texts.items())
    await db.execute(_SHORTER, _columns(numbers))
    rows = [
        {"document": key, "part": number, "text": part}
        for key, text in texts.items()
        for number, part in enumerate(text)
    ]
    if rows:
        await db.execute(_TEXTS, _columns(rows))


async def _cut(db: "Connection", documents: list[int], rows: list[dict[str, Any]]) -> None:
    """Replace the passages of documents; those whose words stay the same stay, elsewhere maybe."""
    old: dict[tuple[int, bytes], list[dict[str, Any]]] = {}
    for row in await (await db.execute(_OLD, (documents,))).fetchall():
        old.setdefault((row["document"], bytes(row["digest"])), []).append(row)
    new, moved = [], []
    for row in rows:
        same = old.get((row["document"], row["digest"]))
        was = same.pop() if same else None
        if was is None:
            new.append(row)
        elif any(was[name] != row[name] for name in _PLACE):
            moved.append(row | {"key": was["key"]})
    gone = [row["key"] for left in old.values() for row in left]
    if gone:
        await db.execute("DELETE FROM passages WHERE key = ANY(%s)", (gone,))
    if moved:
        await db.execute(_MOVE, _columns(moved))
    if new:
        await db.execute(_PIECES, _columns(new))


def _rows(document: int, entry: Entry) -> Iterator[dict[str, Any]]:
    for piece in entry.pieces:
        row = piece_row(entry, piece)
        both = f"{row['heading']}\0{row['words']}".encode()
        yield row | {
            "document": document,
            "name": name_of(entry.document.owner),
            "digest": hashlib.blake2b(both, digest_size=16).digest(),
            "above": plain(row["heading"])[:_MOST_INDEXED],
            "words": plain(row["words"])[:_MOST_INDEXED],
        }


def _columns(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as a list for each column, which is what the server takes all at once."""
    listed = list(rows)
    return {name: [row[name] for row in listed] for name in listed[0]}
