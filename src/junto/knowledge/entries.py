"""Texts on their way into the store: cut into passages, under an id of their own."""

import asyncio
import hashlib
import itertools
import time

from junto.domain.documents import Document, Entry, Piece, Source, Spoken
from junto.knowledge.checks import tells
from junto.knowledge.chunking import Shape, chunks
from junto.knowledge.formats.readable import one_line

# What lies nowhere else has an address of ours.
OWN_ADDRESS = "junto://document/"
_LONG = 100_000
# So many passages a document may have, however short, and as many more as are of this length.
_MANY, _SHORT = 1000, 300


def document_id(owner: str, address: str) -> str:
    """Return the id of what lies at an address: always the same, so that it is kept once."""
    return hashlib.sha256(f"{owner}\0{address}".encode("utf-8", "replace")).hexdigest()[:32]


async def digest_of(content: bytes) -> str:
    """Return what tells content from any other."""
    return _digest(content) if len(content) <= _LONG else await asyncio.to_thread(_digest, content)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def entry(document: Document, text: str, shape: Shape) -> Entry:
    """Return a document with the passages that tell something."""
    most = _MANY + len(text) // _SHORT
    found = list(itertools.islice(chunks(text, shape), most + 1))
    if len(found) > most:  # headings upon headings, with nothing beneath them
        found = list(chunks(text, Shape.PLAIN))
    pieces = tuple(
        Piece(chunk.start, chunk.end, chunk.path)
        for chunk in found
        if tells(text[chunk.start : chunk.end])
    )
    return Entry(document, text, pieces)


async def cut(document: Document, text: str, shape: Shape) -> Entry:
    """Do the same, beside the loop if it takes long."""
    if len(text) <= _LONG:
        return entry(document, text, shape)
    return await asyncio.to_thread(entry, document, text, shape)


def message_entry(spoken: Spoken) -> Entry:
    """Return what was said as a document."""
    url = f"conversation://{spoken.conversation}#{spoken.position}"
    document = Document(
        id=document_id(spoken.owner, f"{url} {spoken.key}"),
        owner=spoken.owner,
        source=Source.CONVERSATIONS,
        url=url,
        title="",  # whatever the conversation is called when it is found
        kind="message",
        digest="",
        size=len(spoken.text),
        modified=spoken.at,
        indexed=time.time(),
        length=len(spoken.text),
        message=spoken.key,
    )
    return entry(document, spoken.text, Shape.MARKDOWN)


async def own_entry(id_: str, owner: str, source: Source, title: str, text: str) -> Entry:
    """Return a text that lies nowhere else as a document; it is taken for Markdown."""
    now = time.time()
    content = text.encode("utf-8", "replace")
    document = Document(
        id=id_,
        owner=owner,
        source=source,
        url=f"{OWN_ADDRESS}{id_}",
        title=one_line(title),
        kind="markdown",
        digest=await digest_of(content),
        size=len(content),
        modified=now,
        indexed=now,
        length=len(text),
    )
    return await cut(document, text, Shape.MARKDOWN)
