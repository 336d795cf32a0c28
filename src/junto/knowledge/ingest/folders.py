"""A folder brought up to date: what has changed is read, and what is gone is removed."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from junto.domain.documents import DocumentStore, Known
from junto.domain.errors import JuntoError
from junto.knowledge.formats.readable import BinaryError
from junto.knowledge.ingest.reports import Told
from junto.knowledge.ingest.taking import Content, Taking
from junto.knowledge.ingest.targets import Folder
from junto.knowledge.ingest.walking import Listing, Spot, Tree

# A file that was changed right before it was read may be changed again within the same tick of
# the clock, so it is read again the next time.
_TICK = 2.0
_FOLDERS_AT_ONCE = 500


@dataclass(eq=False, slots=True)
class FolderPass:
    """One walk through a folder."""

    target: Folder
    tree: Tree
    store: DocumentStore
    taking: Taking
    largest: int
    told: Told
    _visited: set[str] = field(default_factory=set, init=False)
    # Folders that could not be looked into, so that nobody knows what is gone from there.
    _hidden: list[str] = field(default_factory=list, init=False)

    async def run(self) -> None:
        """Go through all of it.

        Raises:
            JuntoError: the store would not; what is wrong with files is in the report.
        """
        walk = self.tree.walk()
        while listing := await asyncio.to_thread(next, walk, None):
            self._visited.add(self.tree.url(listing.path))
            if listing.problem:
                self._hidden.append(self.tree.url(listing.path))
                self.taking.report.fails(listing.path or str(self.tree.root), listing.problem)
            else:
                self.taking.report.skipped += listing.skipped
                await self._listed(listing)
        await self._vanished()

    async def _listed(self, listing: Listing) -> None:
        known = await self.store.known(self.taking.owner, self.tree.url(listing.path))
        here = set[str]()
        for spot in listing.files:
            path = listing.within(spot.name)
            if self.target.takes(path):
                here.add(self.tree.url(path))
                await self._file(path, spot, known.get(self.tree.url(path)))
                self.told(path, self.taking.report)
        await self._remove(known, here)

    async def _file(self, path: str, spot: Spot, before: Known | None) -> None:
        report = self.taking.report
        if before and _same(before, spot):
            report.unchanged += 1
            return
        try:
            content = Content(
                url=self.tree.url(path),
                name=spot.name,
                body=await asyncio.to_thread(self.tree.roots.read, path, self.largest, links=False),
                modified=spot.modified,
                title=path,
                folder=self.tree.url(path.rpartition("/")[0]),
            )
            read = await self.taking.read(content, before)
        except BinaryError:
            report.leaves_out("binary files")
            await self._remove({content.url: before} if before else {}, ())
        except JuntoError as error:
            report.fails(path, error.message)
        else:
            await self.taking.keep(read, new=before is None)

    async def _vanished(self) -> None:
        """Remove what lies in folders that are not there any more."""
        after, owner = "", self.taking.owner
        while some := await self.store.folders(owner, self.tree.url(), after, _FOLDERS_AT_ONCE):
            after = some[-1]
            for url in some:
                hidden = any(url.startswith(f"{each}/") for each in self._hidden)
                if url not in self._visited and not hidden:
                    await self._remove(await self.store.known(owner, url), ())

    async def _remove(self, known: Mapping[str, Known], here: Iterable[str]) -> None:
        gone = [each.id for url, each in known.items() if url not in here and self._meant(url)]
        if gone:
            self.taking.report.removed += await self.store.forget(self.taking.owner, gone)

    def _meant(self, url: str) -> bool:
        return self.target.takes(unquote(url.removeprefix(self.tree.url()).lstrip("/")))


def _same(before: Known, spot: Spot) -> bool:
    untouched = before.size == spot.size and before.modified == spot.modified
    return untouched and before.indexed - before.modified > _TICK
