"""Indexing of targets into the store, and removal of documents from it."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from junto.domain.documents import Document, DocumentStore, IndexedState
from junto.domain.errors import JuntoError, NetworkError, NotFoundError
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.ingest.reader import BatchWriter, DocumentReader, RawContent
from junto.knowledge.ingest.report import IndexReport, OnProgress
from junto.knowledge.ingest.sync import DirectorySync
from junto.knowledge.ingest.targets import DirectoryTarget, FileTarget, WebTarget
from junto.knowledge.ingest.walk import DirectoryTree, file_url, get_modified_time
from junto.security.paths import translate_os_errors

_HTTP_OK = 200
_DIRECTORY_BATCH_SIZE = 500


class PageResponse(Protocol):
    """A fetched web page."""

    @property
    def url(self) -> str:
        """The final URL, after redirects."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    @property
    def content_type(self) -> str:
        """The content type that the server declared."""
        ...

    @property
    def body(self) -> bytes:
        """The content."""
        ...


def _ignore_progress(_name: str, _report: IndexReport) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Indexer:
    """An indexer for one owner's documents."""

    store: DocumentStore
    parser: DocumentParser
    owner: str
    max_file_bytes: int
    fetch: Callable[[str, int], Awaitable[PageResponse]]
    on_progress: OnProgress = _ignore_progress
    report: IndexReport = field(default_factory=IndexReport)

    async def index(self, target: DirectoryTarget | FileTarget | WebTarget) -> None:
        """Bring the store up to date with a target.

        Raises:
            JuntoError: the store fails; problems with files are in the report.
        """
        async with BatchWriter(self.store, self.owner).open() as writer:
            reader = DocumentReader(self.owner, self.parser, writer, self.report)
            match target:
                case DirectoryTarget(path, _, identity):
                    tree = DirectoryTree.from_path(path, identity)
                    await DirectorySync(
                        target, tree, self.store, reader, self.max_file_bytes, self.on_progress
                    ).run()
                case FileTarget(path):
                    await self._index_one(
                        str(path), file_url(path), reader, lambda: self._load_file(path)
                    )
                case WebTarget(url):
                    await self._index_one(url, url, reader, lambda: self._fetch_page(url))

    async def _index_one(
        self,
        name: str,
        url: str,
        reader: DocumentReader,
        load_content: Callable[[], Awaitable[RawContent]],
    ) -> None:
        """Index a single file or web page."""
        document = await self.store.find(self.owner, url)
        previous = _build_state(document) if document and document.owner == self.owner else None
        try:
            result = await reader.read(await load_content(), previous)
        except NotFoundError as error:
            removed = await self.store.delete(self.owner, [previous.id]) if previous else 0
            self.report.removed += removed
            if not removed:
                self.report.add_failure(name, error.message)
        except JuntoError as error:
            self.report.add_failure(name, error.message)
        else:
            await reader.save(result, is_new=previous is None)
        self.on_progress(name, self.report)

    async def _load_file(self, path: Path) -> RawContent:
        tree = DirectoryTree.from_path(path.parent)
        with translate_os_errors(path.name):
            stat_result = await asyncio.to_thread(os.stat, path)
        return RawContent(
            url=tree.url(path.name),
            name=path.name,
            body=await asyncio.to_thread(
                tree.roots.read, path.name, self.max_file_bytes, follow_links=False
            ),
            modified=get_modified_time(stat_result),
            title=path.name,
            directory_url=tree.url(),
        )

    async def _fetch_page(self, url: str) -> RawContent:
        page = await self.fetch(url, self.max_file_bytes)
        if page.status != _HTTP_OK:
            raise NetworkError(f"It answered {page.status}.", retryable=False)
        return RawContent(
            url=url,
            name=unquote(urlsplit(page.url).path.rpartition("/")[2]),
            body=page.body,
            modified=time.time(),
            title=url,
            content_type=page.content_type,
        )


def _build_state(document: Document) -> IndexedState:
    return IndexedState(
        document.id, document.digest, document.size, document.modified, document.indexed
    )


def count_files(target: DirectoryTarget) -> int:
    """Return the number of files in a target, for a progress bar."""
    return sum(
        target.includes(scan.join(file.name))
        for scan in DirectoryTree.from_path(target.path, target.identity).walk()
        for file in scan.files
    )


async def remove_documents(store: DocumentStore, owner: str, id_or_location: str) -> int:
    """Remove the documents at or below an id, URL or path; return how many there were."""
    removed = 0
    for id_or_url in (id_or_location, await asyncio.to_thread(_resolve_file_url, id_or_location)):
        document = await store.find(owner, id_or_url)
        if document and document.owner == owner:
            removed += await store.delete(owner, [document.id])
        removed += await _remove_beneath(store, owner, id_or_url)
    return removed


def _resolve_file_url(path: str) -> str:
    return file_url(Path(os.path.realpath(Path(path).expanduser())))


async def _remove_beneath(store: DocumentStore, owner: str, directory_url: str) -> int:
    removed = 0
    # Directories without documents are not listed, so each batch is new.
    while urls := await store.list_folders(owner, directory_url, "", _DIRECTORY_BATCH_SIZE):
        for url in urls:
            states = await store.load_indexed_states(owner, url)
            removed += await store.delete(owner, [state.id for state in states.values()])
    return removed
