"""Indexing: whatever somebody names, read into the store, and a report of it."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from junto.domain.documents import Document, DocumentStore, Known
from junto.domain.errors import JuntoError, NetworkError, NotFoundError
from junto.knowledge.formats.service import Formats
from junto.knowledge.ingest.batches import Batches
from junto.knowledge.ingest.folders import FolderPass
from junto.knowledge.ingest.reports import Report, Told
from junto.knowledge.ingest.taking import Content, Taking
from junto.knowledge.ingest.targets import File, Folder, Web
from junto.knowledge.ingest.walking import Tree, changed_at, file_url
from junto.security.paths import reported

_HTTP_OK = 200


class Fetched(Protocol):
    """A page of the web, as it came."""

    @property
    def url(self) -> str:
        """Where it was in the end."""
        ...

    @property
    def status(self) -> int:
        """What the server said first."""
        ...

    @property
    def content_type(self) -> str:
        """What the server says it is."""
        ...

    @property
    def body(self) -> bytes:
        """What it is."""
        ...


def nobody(_name: str, _report: Report) -> None:
    """Hear about a file, and do nothing."""


@dataclass(frozen=True, slots=True)
class Indexer:
    """Puts what lies somewhere into the store, for one owner."""

    store: DocumentStore
    formats: Formats
    owner: str
    largest: int
    fetch: Callable[[str, int], Awaitable[Fetched]]
    told: Told = nobody
    report: Report = field(default_factory=Report)

    async def index(self, target: Folder | File | Web) -> None:
        """Bring the store up to date with a target.

        Raises:
            JuntoError: the store would not; what is wrong with files is in the report.
        """
        async with Batches(self.store, self.owner).open() as batches:
            taking = Taking(self.owner, self.formats, batches, self.report)
            match target:
                case Folder(path, _, identity):
                    tree = Tree.at(path, identity)
                    await FolderPass(
                        target, tree, self.store, taking, self.largest, self.told
                    ).run()
                case File(path):
                    await self._alone(str(path), file_url(path), taking, lambda: self._file(path))
                case Web(url):
                    await self._alone(url, url, taking, lambda: self._page(url))

    async def _alone(
        self, name: str, url: str, taking: Taking, read: Callable[[], Awaitable[Content]]
    ) -> None:
        """Take in one thing that was named."""
        found = await self.store.find(self.owner, url)
        before = _known(found) if found and found.owner == self.owner else None
        try:
            taken = await taking.read(await read(), before)
        except NotFoundError as error:
            gone = await self.store.forget(self.owner, [before.id]) if before else 0
            self.report.removed += gone
            if not gone:
                self.report.fails(name, error.message)
        except JuntoError as error:
            self.report.fails(name, error.message)
        else:
            await taking.keep(taken, new=before is None)
        self.told(name, self.report)

    async def _file(self, path: Path) -> Content:
        tree = Tree.at(path.parent)
        with reported(path.name):
            found = await asyncio.to_thread(os.stat, path)
        return Content(
            url=tree.url(path.name),
            name=path.name,
            body=await asyncio.to_thread(tree.roots.read, path.name, self.largest, links=False),
            modified=changed_at(found),
            title=path.name,
            folder=tree.url(),
        )

    async def _page(self, url: str) -> Content:
        page = await self.fetch(url, self.largest)
        if page.status != _HTTP_OK:
            raise NetworkError(f"It answered {page.status}.", retryable=False)
        return Content(
            url=url,
            name=unquote(urlsplit(page.url).path.rpartition("/")[2]),
            body=page.body,
            modified=time.time(),
            title=url,
            content_type=page.content_type,
        )


def _known(document: Document) -> Known:
    return Known(document.id, document.digest, document.size, document.modified, document.indexed)


def counted(target: Folder) -> int:
    """Return how many files there are to look at, for a bar of progress."""
    return sum(
        target.takes(listing.within(spot.name))
        for listing in Tree.at(target.path, target.identity).walk()
        for spot in listing.files
    )
