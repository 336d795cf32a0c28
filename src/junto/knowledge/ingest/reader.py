"""Reading of content into documents, and saving them in batches."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from junto.domain.documents import Document, DocumentEntry, DocumentStore, IndexedState, Source
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.formats.text import to_single_line
from junto.knowledge.ingest.report import IndexReport
from junto.knowledge.passages import build_entry, compute_digest, derive_document_id
from junto.runtime.tasks import run_to_completion

_MAX_BATCH_DOCUMENTS, _MAX_BATCH_CHARS = 64, 2_000_000


@dataclass(eq=False, slots=True)
class BatchWriter:
    """A writer that saves batches of documents while the next ones are read."""

    store: DocumentStore
    owner: str
    _entries: list[DocumentEntry] = field(default_factory=list, init=False)
    _unchanged: list[IndexedState] = field(default_factory=list, init=False)
    _char_count: int = field(default=0, init=False)
    _write_task: "asyncio.Task[None] | None" = field(default=None, init=False)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["BatchWriter"]:
        """Save the remaining documents at the end of the block, however it ends."""
        try:
            yield self
        finally:
            # Even if the run is cancelled, so that the next one need not read the same files again.
            await run_to_completion(self._flush())

    async def add(self, entry: DocumentEntry) -> None:
        """Add a document to the next batch."""
        self._entries.append(entry)
        self._char_count += len(entry.text)
        if len(self._entries) >= _MAX_BATCH_DOCUMENTS or self._char_count >= _MAX_BATCH_CHARS:
            await self._start_write()

    async def confirm_unchanged(self, state: IndexedState) -> None:
        """Add the new state of a document with unchanged content to the next batch."""
        self._unchanged.append(state)
        if len(self._unchanged) >= _MAX_BATCH_DOCUMENTS:
            await self._start_write()

    async def _flush(self) -> None:
        await self._start_write()
        if self._write_task:
            await self._write_task

    async def _start_write(self) -> None:
        if self._write_task:
            await asyncio.shield(self._write_task)
        entries, self._entries, self._char_count = self._entries, [], 0
        unchanged, self._unchanged = self._unchanged, []
        self._write_task = asyncio.create_task(self._save(entries, unchanged))

    async def _save(self, entries: list[DocumentEntry], unchanged: list[IndexedState]) -> None:
        if entries:
            await self.store.save(entries)
        if unchanged:
            await self.store.update_indexed_states(self.owner, unchanged)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawContent:
    """Content as it was loaded, before it is parsed."""

    url: str
    name: str
    body: bytes
    modified: float
    # Used if the content states no title.
    title: str
    content_type: str | None = None
    directory_url: str = ""


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """A reader that turns content into one owner's documents."""

    owner: str
    parser: DocumentParser
    writer: BatchWriter
    report: IndexReport

    async def read(
        self, content: RawContent, previous: IndexedState | None
    ) -> DocumentEntry | IndexedState:
        """Return the content as a document, or its new state if the content has not changed.

        Raises:
            JuntoError: the content cannot be read.
        """
        digest = await compute_digest(content.body)
        self.report.bytes_read += len(content.body)
        now = time.time()
        if previous and previous.digest == digest:
            return IndexedState(previous.id, digest, len(content.body), content.modified, now)
        parsed = await self.parser.parse(content.name, content.body, content.content_type)
        document = Document(
            id=derive_document_id(self.owner, content.url),
            owner=self.owner,
            source=Source.DOCUMENTS,
            url=content.url,
            title=to_single_line(parsed.title or content.title),
            kind=parsed.kind,
            digest=digest,
            size=len(content.body),
            modified=content.modified,
            indexed=now,
            length=len(parsed.text),
            folder=content.directory_url,
        )
        return await build_entry(document, parsed.text, parsed.structure)

    async def save(self, result: DocumentEntry | IndexedState, *, is_new: bool) -> None:
        """Save the result with the next batch, and count it in the report.

        Raises:
            JuntoError: the store fails.
        """
        if isinstance(result, IndexedState):
            await self.writer.confirm_unchanged(result)
            self.report.unchanged += 1
            return
        await self.writer.add(result)
        if is_new:
            self.report.added += 1
        else:
            self.report.changed += 1
