"""One file or page taken in: read if it has changed, and noted in the report if it cannot be."""

import time
from dataclasses import dataclass

from junto.domain.documents import Document, Entry, Known, Source
from junto.knowledge.entries import cut, digest_of, document_id
from junto.knowledge.formats.readable import one_line
from junto.knowledge.formats.service import Formats
from junto.knowledge.ingest.batches import Batches
from junto.knowledge.ingest.reports import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What lies at an address, as it came."""

    url: str
    name: str
    body: bytes
    modified: float
    # What it is called if it does not say itself.
    title: str
    content_type: str | None = None
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Taking:
    """Takes things in for one owner."""

    owner: str
    formats: Formats
    batches: Batches
    report: Report

    async def read(self, content: Content, before: Known | None) -> Entry | Known:
        """Return it as a document, or that it is what is known already.

        Raises:
            JuntoError: it cannot be read.
        """
        digest = await digest_of(content.body)
        self.report.size += len(content.body)
        now = time.time()
        if before and before.digest == digest:
            return Known(before.id, digest, len(content.body), content.modified, now)
        readable = await self.formats.read(content.name, content.body, content.content_type)
        document = Document(
            id=document_id(self.owner, content.url),
            owner=self.owner,
            source=Source.DOCUMENTS,
            url=content.url,
            title=one_line(readable.title or content.title),
            kind=readable.kind,
            digest=digest,
            size=len(content.body),
            modified=content.modified,
            indexed=now,
            length=len(readable.text),
            folder=content.folder,
        )
        return await cut(document, readable.text, readable.shape)

    async def keep(self, read: Entry | Known, *, new: bool) -> None:
        """Have it kept.

        Raises:
            JuntoError: the store would not.
        """
        if isinstance(read, Known):
            await self.batches.confirm(read)
            self.report.unchanged += 1
            return
        await self.batches.add(read)
        if new:
            self.report.added += 1
        else:
            self.report.changed += 1
