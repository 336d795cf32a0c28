"""Synchronisation of a directory: changed files are indexed, documents of deleted ones removed."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from junto.domain.documents import DocumentStore, IndexedState
from junto.domain.errors import JuntoError
from junto.knowledge.formats.text import BinaryFileError
from junto.knowledge.ingest.reader import DocumentReader, RawContent
from junto.knowledge.ingest.report import OnProgress
from junto.knowledge.ingest.targets import DirectoryTarget
from junto.knowledge.ingest.walk import DirectoryScan, DirectoryTree, FileEntry

# A file that changed right before it was read may change again without a new timestamp, so the
# next run reads it again.
_MTIME_TICK_SECONDS = 2.0
_DIRECTORY_BATCH_SIZE = 500


@dataclass(eq=False, slots=True)
class DirectorySync:
    """A single synchronisation of a directory."""

    target: DirectoryTarget
    tree: DirectoryTree
    store: DocumentStore
    reader: DocumentReader
    max_file_bytes: int
    on_progress: OnProgress
    _visited_urls: set[str] = field(default_factory=set, init=False)
    # Directories that could not be read, so that documents below them must be kept.
    _unreadable_urls: list[str] = field(default_factory=list, init=False)

    async def run(self) -> None:
        """Synchronise the whole directory.

        Raises:
            JuntoError: the store fails; problems with files are in the report.
        """
        walk = self.tree.walk()
        while scan := await asyncio.to_thread(next, walk, None):
            self._visited_urls.add(self.tree.url(scan.path))
            if scan.problem:
                self._unreadable_urls.append(self.tree.url(scan.path))
                self.reader.report.add_failure(scan.path or str(self.tree.root), scan.problem)
            else:
                self.reader.report.skipped += scan.skipped
                await self._sync_directory(scan)
        await self._remove_vanished_directories()

    async def _sync_directory(self, listing: DirectoryScan) -> None:
        states = await self.store.load_indexed_states(
            self.reader.owner, self.tree.url(listing.path)
        )
        present_urls = set[str]()
        for file in listing.files:
            path = listing.join(file.name)
            if self.target.includes(path):
                present_urls.add(self.tree.url(path))
                await self._sync_file(path, file, states.get(self.tree.url(path)))
                self.on_progress(path, self.reader.report)
        await self._remove_missing(states, present_urls)

    async def _sync_file(self, path: str, file: FileEntry, previous: IndexedState | None) -> None:
        report = self.reader.report
        if previous and _is_unchanged(previous, file):
            report.unchanged += 1
            return
        try:
            content = RawContent(
                url=self.tree.url(path),
                name=file.name,
                body=await asyncio.to_thread(
                    self.tree.roots.read, path, self.max_file_bytes, follow_links=False
                ),
                modified=file.modified,
                title=path,
                directory_url=self.tree.url(path.rpartition("/")[0]),
            )
            result = await self.reader.read(content, previous)
        except BinaryFileError:
            report.add_skipped("binary files")
            await self._remove_missing({content.url: previous} if previous else {}, ())
        except JuntoError as error:
            report.add_failure(path, error.message)
        else:
            await self.reader.save(result, is_new=previous is None)

    async def _remove_vanished_directories(self) -> None:
        """Remove the documents of directories that no longer exist."""
        last_url, owner = "", self.reader.owner
        while urls := await self.store.list_folders(
            owner, self.tree.url(), last_url, _DIRECTORY_BATCH_SIZE
        ):
            last_url = urls[-1]
            for url in urls:
                is_unreadable = any(url.startswith(f"{each}/") for each in self._unreadable_urls)
                if url not in self._visited_urls and not is_unreadable:
                    await self._remove_missing(await self.store.load_indexed_states(owner, url), ())

    async def _remove_missing(
        self, states: Mapping[str, IndexedState], present_urls: Iterable[str]
    ) -> None:
        missing_ids = [
            each.id
            for url, each in states.items()
            if url not in present_urls and self._is_in_target(url)
        ]
        if missing_ids:
            self.reader.report.removed += await self.store.delete(self.reader.owner, missing_ids)

    def _is_in_target(self, url: str) -> bool:
        return self.target.includes(unquote(url.removeprefix(self.tree.url()).lstrip("/")))


def _is_unchanged(previous: IndexedState, file: FileEntry) -> bool:
    same_metadata = previous.size == file.size and previous.modified == file.modified
    return same_metadata and previous.indexed - previous.modified > _MTIME_TICK_SECONDS
