"""The documents themselves: kept up to date, added to, and read page by page."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from junto.domain.documents import Document, DocumentStore, Source, Stock
from junto.domain.errors import InvalidInputError, NotFoundError
from junto.domain.ids import new_id
from junto.knowledge import manual
from junto.knowledge.entries import OWN_ADDRESS, document_id, message_entry, own_entry

PAGE = 20_000
RESOURCE = "document://"
_SCHEMES = (OWN_ADDRESS, RESOURCE)
_PAGED = re.compile(r"(.{1,4000}?)(?::([1-9]\d{0,6}))?", re.DOTALL)
# Messages are taken in so many at a time, and no search waits for more than a few times that.
_AT_ONCE, _MOST_AT_ONCE = 200, 10
LARGEST_NOTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a document that is read at once."""

    document: Document
    text: str
    number: int
    count: int

    @property
    def next(self) -> str | None:
        """Return what to ask for to read on."""
        return f"{self.document.id}:{self.number + 1}" if self.number < self.count else None


def page_id(document: Document, position: int) -> str:
    """Return what to ask for to read a document where `position` is."""
    number = position // PAGE + 1
    return document.id if number == 1 else f"{document.id}:{number}"


@dataclass(eq=False, slots=True)
class Library:
    """Documents, for whoever may see them."""

    store: DocumentStore
    # Set when there is something new.
    news: asyncio.Event
    # Whether conversations are searched at all.
    remembers: bool = True
    _manual_read: bool = field(default=False, init=False)

    async def freshen(self, sources: Sequence[Source] = ()) -> None:
        """Take in what was said, and the manual, if they are searched."""
        if self.remembers and (not sources or Source.CONVERSATIONS in sources):
            await self.listen(_MOST_AT_ONCE)
        if not self._manual_read and (not sources or Source.SYSTEM in sources):
            if await manual.refreshed(self.store):
                self.news.set()
            self._manual_read = True

    async def listen(self, rounds: int | None = None) -> None:
        """Make documents of what was said since the last time."""
        while rounds != 0:
            spoken = await self.store.unread(_AT_ONCE)
            if not spoken:
                return
            await self.store.keep([message_entry(each) for each in spoken])
            self.news.set()
            rounds = None if rounds is None else rounds - 1

    async def add(self, owner: str, text: str, title: str | None = None) -> Document:
        """Keep a note, in the place of the one with the same title if it has one.

        Raises:
            InvalidInputError: there is nothing in it, or too much.
        """
        if not text.strip():
            raise InvalidInputError("text: there is nothing in it.")
        if len(text) > LARGEST_NOTE:
            raise InvalidInputError(f"text: a note has at most {LARGEST_NOTE:,} characters.")
        id_ = document_id(owner, f"note {title}") if title else new_id()
        first = next((line for line in text.splitlines() if line.strip()), "")
        note = await own_entry(id_, owner, Source.NOTES, title or first.lstrip("# ")[:80], text)
        await self.store.keep([note])
        self.news.set()
        return note.document

    async def page(self, owner: str, wanted: str) -> Page:
        """Return a page of a document, by its id or address; `ID:2` is the second.

        Raises:
            NotFoundError: there is no such document, or it has no such page.
        """
        document, number = await self._found(owner, wanted)
        count = max(1, -(-document.length // PAGE))
        if number > count:
            raise NotFoundError(f"{document.title} ends with page {count}.")
        start = (number - 1) * PAGE
        text = await self.store.text(owner, document.id, start, start + PAGE)
        return Page(document, text, number, count)

    async def stock(self, owner: str) -> tuple[Stock, ...]:
        """Return how much there is, by source."""
        return await self.store.stock(owner)

    async def _found(self, owner: str, wanted: str) -> tuple[Document, int]:
        for scheme in _SCHEMES:
            wanted = wanted.removeprefix(scheme)
        # An address may end like the number of a page, so it is tried as it is first.
        if document := await self.store.find(owner, wanted):
            return document, 1
        paged = _PAGED.fullmatch(wanted)
        if paged and paged[2] and (document := await self.store.find(owner, paged[1])):
            return document, int(paged[2])
        raise NotFoundError(f"There is no document {wanted[:100]!r}. `search` finds documents.")
