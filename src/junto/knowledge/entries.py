"""Texts on their way into the store: cut into passages, under an id of their own."""

import hashlib
import re
import time

from junto.domain.documents import Document, Entry, Piece, Source, Spoken
from junto.knowledge.checks import tells
from junto.knowledge.chunking import Shape, chunks

_LONGEST_TITLE = 200
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")


def document_id(owner: str, address: str) -> str:
    """Return the id of what lies at an address: always the same, so that it is kept once."""
    return hashlib.sha256(f"{owner}\0{address}".encode("utf-8", "replace")).hexdigest()[:32]


def digest_of(content: bytes) -> str:
    """Return what tells content from any other."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def one_line(text: str) -> str:
    """Return a title in which nothing moves the cursor."""
    return _BLANKS.sub(" ", text).strip()[:_LONGEST_TITLE]


def entry(document: Document, text: str, shape: Shape) -> Entry:
    """Return a document with the passages that tell something."""
    pieces = tuple(
        Piece(chunk.start, chunk.end, chunk.path)
        for chunk in chunks(text, shape)
        if tells(text[chunk.start : chunk.end])
    )
    return Entry(document, text, pieces)


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


def loose(id_: str, owner: str, source: Source, title: str, text: str) -> Entry:
    """Return a text that lies nowhere else as a document; it is taken for Markdown."""
    now = time.time()
    content = text.encode("utf-8", "replace")
    document = Document(
        id=id_,
        owner=owner,
        source=source,
        url=f"junto://document/{id_}",
        title=one_line(title),
        kind="markdown",
        digest=digest_of(content),
        size=len(content),
        modified=now,
        indexed=now,
        length=len(text),
    )
    return entry(document, text, Shape.MARKDOWN)
