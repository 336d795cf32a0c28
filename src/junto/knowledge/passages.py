"""Conversion of texts to document entries: ids, digests and passages."""

import asyncio
import hashlib
import itertools
import time

from junto.domain.documents import Document, DocumentEntry, Source, Span, UnindexedMessage
from junto.knowledge.chunking import TextStructure, iter_chunks
from junto.knowledge.formats.text import to_single_line
from junto.knowledge.ranking import is_mostly_words

# URL prefix of documents that have no location of their own, such as notes.
DOCUMENT_URL_PREFIX = "junto://document/"
_MAX_INLINE_LENGTH = 100_000
# The maximum number of passages of a document grows with its length.
_MAX_PASSAGES_BASE, _CHARS_PER_EXTRA_PASSAGE = 1000, 300


def derive_document_id(owner: str, key: str) -> str:
    """Return the id for an owner and key: always the same, so a document is stored once."""
    return hashlib.sha256(f"{owner}\0{key}".encode("utf-8", "replace")).hexdigest()[:32]


async def compute_digest(content: bytes) -> str:
    """Return a hash of the content, computed in a thread if it is large."""
    return (
        _hash_content(content)
        if len(content) <= _MAX_INLINE_LENGTH
        else await asyncio.to_thread(_hash_content, content)
    )


def _hash_content(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _build_entry_sync(document: Document, text: str, structure: TextStructure) -> DocumentEntry:
    """Build an entry with the passages that mostly consist of words."""
    max_passages = _MAX_PASSAGES_BASE + len(text) // _CHARS_PER_EXTRA_PASSAGE
    chunks = list(itertools.islice(iter_chunks(text, structure), max_passages + 1))
    if len(chunks) > max_passages:  # almost nothing but headings
        chunks = list(iter_chunks(text, TextStructure.PLAIN))
    spans = tuple(
        Span(chunk.start, chunk.end, chunk.headings)
        for chunk in chunks
        if is_mostly_words(text[chunk.start : chunk.end])
    )
    return DocumentEntry(document, text, spans)


async def build_entry(document: Document, text: str, structure: TextStructure) -> DocumentEntry:
    """Build an entry, in a thread if the text is long."""
    if len(text) <= _MAX_INLINE_LENGTH:
        return _build_entry_sync(document, text, structure)
    return await asyncio.to_thread(_build_entry_sync, document, text, structure)


def build_message_entry(message: UnindexedMessage) -> DocumentEntry:
    """Build the entry of a message."""
    url = f"conversation://{message.conversation}#{message.position}"
    document = Document(
        id=derive_document_id(message.owner, f"{url} {message.key}"),
        owner=message.owner,
        source=Source.CONVERSATIONS,
        url=url,
        title="",  # results show the current title of the conversation
        kind="message",
        digest="",
        size=len(message.text),
        modified=message.at,
        indexed=time.time(),
        length=len(message.text),
        message=message.key,
    )
    return _build_entry_sync(document, message.text, TextStructure.MARKDOWN)


async def build_markdown_entry(
    id_: str, owner: str, source: Source, title: str, text: str
) -> DocumentEntry:
    """Build the entry of a Markdown text that has no location of its own."""
    now = time.time()
    content = text.encode("utf-8", "replace")
    document = Document(
        id=id_,
        owner=owner,
        source=source,
        url=f"{DOCUMENT_URL_PREFIX}{id_}",
        title=to_single_line(title),
        kind="markdown",
        digest=await compute_digest(content),
        size=len(content),
        modified=now,
        indexed=now,
        length=len(text),
    )
    return await build_entry(document, text, TextStructure.MARKDOWN)
