"""One file or page taken in: read if it has changed, and noted in the report if it cannot be."""

import asyncio
import time
from dataclasses import dataclass

from junto.domain.documents import Document, Known, Source
from junto.knowledge.entries import digest_of, document_id, entry, one_line
from junto.knowledge.formats.service import Formats
from junto.knowledge.ingest.batches import Batches
from junto.knowledge.ingest.reports import Report

# Texts longer than this are cut in a thread, so that others get their turn meanwhile.
_LONG = 100_000


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

    async def take(self, content: Content, before: Known | None) -> None:
        """Have it kept, unless it is what is known already.

        Raises:
            JuntoError: it cannot be read, or not be kept.
        """
        digest, now = digest_of(content.body), time.time()
        self.report.bytes += len(content.body)
        if before and before.digest == digest:
            size = len(content.body)
            await self.batches.confirm(Known(before.id, digest, size, content.modified, now))
            self.report.unchanged += 1
            return
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
        text, shape = readable.text, readable.shape
        beside = len(text) > _LONG
        made = (
            entry(document, text, shape)
            if not beside
            else await asyncio.to_thread(entry, document, text, shape)
        )
        await self.batches.add(made)
        if before:
            self.report.changed += 1
        else:
            self.report.added += 1
