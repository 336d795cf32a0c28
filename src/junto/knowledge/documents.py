"""The document library: indexing messages and the manual, adding notes, reading pages."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from junto.domain.documents import Document, DocumentStore, IndexStats, Source
from junto.domain.errors import InvalidInputError, NotFoundError
from junto.domain.ids import new_id
from junto.knowledge import manual
from junto.knowledge.passages import (
    DOCUMENT_URL_PREFIX,
    build_markdown_entry,
    build_message_entry,
    derive_document_id,
)

PAGE_CHARS = 20_000
RESOURCE_URI_PREFIX = "document://"
_URI_PREFIXES = (DOCUMENT_URL_PREFIX, RESOURCE_URI_PREFIX)
_PAGE_REFERENCE = re.compile(r"(.{1,4000}?)(?::([1-9]\d{0,6}))?", re.DOTALL)
# Messages indexed at a time, and the number of such batches a search waits for.
_MESSAGE_BATCH_SIZE, _MAX_BATCHES_PER_SEARCH = 200, 10
MAX_NOTE_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of a document's text."""

    document: Document
    text: str
    number: int
    count: int

    @property
    def next_page_id(self) -> str | None:
        """The id of the next page, if there is one."""
        return f"{self.document.id}:{self.number + 1}" if self.number < self.count else None


def format_page_id(document: Document, position: int) -> str:
    """Return the id of the page of a document that contains `position`."""
    number = position // PAGE_CHARS + 1
    return document.id if number == 1 else f"{document.id}:{number}"


@dataclass(eq=False, slots=True)
class DocumentLibrary:
    """The documents that each owner may see."""

    store: DocumentStore
    # Set when documents are added or changed.
    content_changed: asyncio.Event
    # Whether conversations can be searched.
    includes_conversations: bool = True
    _manual_indexed: bool = field(default=False, init=False)

    async def refresh(self, sources: Sequence[Source] = ()) -> None:
        """Index new messages and the manual, if they are among `sources`, or if it is empty."""
        if self.includes_conversations and (not sources or Source.CONVERSATIONS in sources):
            await self.index_messages(_MAX_BATCHES_PER_SEARCH)
        if not self._manual_indexed and (not sources or Source.SYSTEM in sources):
            if await manual.sync_manual(self.store):
                self.content_changed.set()
            self._manual_indexed = True

    async def index_messages(self, max_batches: int | None = None) -> None:
        """Index the messages that are not indexed yet."""
        while max_batches != 0:
            messages = await self.store.list_unindexed_messages(_MESSAGE_BATCH_SIZE)
            if not messages:
                return
            await self.store.save([build_message_entry(each) for each in messages])
            self.content_changed.set()
            max_batches = None if max_batches is None else max_batches - 1

    async def add_note(self, owner: str, text: str, title: str | None = None) -> Document:
        """Save a note; one with a title replaces the note with the same title.

        Raises:
            InvalidInputError: the text is empty, or too long.
        """
        if not text.strip():
            raise InvalidInputError("text: there is nothing in it.")
        if len(text) > MAX_NOTE_CHARS:
            raise InvalidInputError(f"text: a note has at most {MAX_NOTE_CHARS:,} characters.")
        id_ = derive_document_id(owner, f"note {title}") if title else new_id()
        first_line = next((line for line in text.splitlines() if line.strip()), "")
        entry = await build_markdown_entry(
            id_, owner, Source.NOTES, title or first_line.lstrip("# ")[:80], text
        )
        await self.store.save([entry])
        self.content_changed.set()
        return entry.document

    async def read_page(self, owner: str, id_or_url: str) -> DocumentPage:
        """Return a page of a document by its id or URL; `ID:2` is the second page.

        Raises:
            NotFoundError: there is no such document, or it has no such page.
        """
        document, number = await self._resolve_page(owner, id_or_url)
        count = max(1, -(-document.length // PAGE_CHARS))
        if number > count:
            raise NotFoundError(f"{document.title} ends with page {count}.")
        start = (number - 1) * PAGE_CHARS
        text = await self.store.read_text(owner, document.id, start, start + PAGE_CHARS)
        return DocumentPage(document, text, number, count)

    async def fetch_stats(self, owner: str) -> tuple[IndexStats, ...]:
        """Return the size of the index by source."""
        return await self.store.load_index_stats(owner)

    async def _resolve_page(self, owner: str, id_or_url: str) -> tuple[Document, int]:
        for prefix in _URI_PREFIXES:
            id_or_url = id_or_url.removeprefix(prefix)
        # A URL may itself end like a page number, so try it unchanged first.
        if document := await self.store.find(owner, id_or_url):
            return document, 1
        match = _PAGE_REFERENCE.fullmatch(id_or_url)
        if match and match[2] and (document := await self.store.find(owner, match[1])):
            return document, int(match[2])
        raise NotFoundError(f"There is no document {id_or_url[:100]!r}. `search` finds documents.")
