"""`junto index`."""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import click

from junto.app import Junto, running
from junto.cli.orders import Order
from junto.cli.progress import Progress
from junto.cli.table import show
from junto.cli.writing import harmless, say
from junto.cli.writing import shown as shown_text
from junto.domain.documents import EVERYONE, Scope, Source
from junto.domain.errors import JuntoError
from junto.kit.web import fetched
from junto.knowledge.formats.service import Formats
from junto.knowledge.ingest.removing import removed
from junto.knowledge.ingest.reports import Report
from junto.knowledge.ingest.service import Indexer, counted
from junto.knowledge.ingest.targets import File, Folder, Target, Web, target
from junto.knowledge.ingest.watching import changes
from junto.knowledge.library import LARGEST_NOTE
from junto.settings import Loaded
from junto.tools.tool import LOCAL_CALLER

_MOST_SHOWN = 20
_STOPPED = "Stopped. What was read so far is searchable; the same command goes on from here."


def index(loaded: Loaded, order: Order) -> int:
    """Do what is ordered, tell how far it is, and return the exit code."""
    order.check()
    if "-" in order.words:
        # Before anything else: a loop that waits for a pipe hears no Ctrl-C.
        piped = sys.stdin.buffer.read(4 * LARGEST_NOTE + 1).decode("utf-8", "replace")
        words = tuple(word for word in order.words if word != "-")
        order = replace(order, words=words, note=piped)
    with running(loaded, default_level="error") as junto:
        try:
            return asyncio.run(_Indexing(junto, order).run())
        except KeyboardInterrupt:
            say(_STOPPED)
            return 130


@dataclass(slots=True)
class _Indexing:
    """One run of the command."""

    junto: Junto
    order: Order
    _report: Report = field(default_factory=Report, init=False)

    @property
    def _owner(self) -> str:
        return EVERYONE if self.order.shared else LOCAL_CALLER

    async def run(self) -> int:
        order = self.order
        async with self.junto.alone():
            if order.remove:
                return await self._remove()
            if order.note is not None:
                await self._add(order.note)
            elif order.listed:
                return await self._list()
            elif not order.words:
                return await self._stock()
            targets = [target(word) for word in order.words]
            async with Formats() as formats:
                failed = await self._index(self._indexer(formats), targets)
                if order.watch:
                    await self._watch(formats, targets)
        return 1 if failed else 0

    def _indexer(self, formats: Formats) -> Indexer:
        return Indexer(
            store=self.junto.knowledge.library.store,
            formats=formats,
            owner=self._owner,
            largest=self.junto.settings.knowledge.largest_file,
            fetch=fetched,
            report=self._report,
        )

    async def _index(self, indexer: Indexer, targets: Sequence[Target]) -> bool:
        """Index all of it; return whether something that was named could not be read."""
        failed = False
        for each in targets:
            before = self._report.failed
            await _shown(indexer, each)
            failed |= self._report.failed > before and not isinstance(each, Folder)
        if targets:
            self._tell()
        if not self.order.words_only:
            await self._place()
        return failed

    async def _watch(self, formats: Formats, targets: Sequence[Target]) -> None:
        watched = [each for each in targets if isinstance(each, Folder | File)]
        say("Watching; Ctrl-C ends it.")
        async with aclosing(changes(watched)) as news:
            async for changed in news:
                self._report = Report()
                await self._index(self._indexer(formats), changed)

    async def _add(self, text: str) -> None:
        library = self.junto.knowledge.library
        note = await library.add(self._owner, text, self.order.title)
        if self.order.as_json:
            click.echo(json.dumps({"id": note.id, "title": note.title, "url": note.url}, indent=2))
        else:
            click.echo(shown_text(f"{note.id}  {note.title}"))

    async def _place(self) -> None:
        """Make vectors of what has none; words are searchable without."""
        placing = self.junto.knowledge.placing
        if placing is None:
            return
        progress = Progress("reading for meaning", "passages")

        def told(left: int) -> None:
            progress.total = progress.total or left
            progress.shows(progress.total - left)

        try:
            await placing.finish(told)
        except JuntoError as error:
            say(f"Searchable by words alone. {harmless(error.message)}")
        finally:
            progress.ends()

    async def _remove(self) -> int:
        store = self.junto.knowledge.library.store
        gone = sum([await removed(store, self._owner, word) for word in self.order.words])
        told = (
            json.dumps({"removed": gone}) if self.order.as_json else f"{gone:,} documents removed"
        )
        click.echo(told)
        return 0 if gone else 1

    async def _list(self) -> int:
        store, after = self.junto.knowledge.library.store, ""
        sources = (Source.DOCUMENTS, Source.NOTES)
        while some := await store.listed(Scope(owner=LOCAL_CALLER, sources=sources), after, 500):
            after = some[-1].url
            for document in some:
                facts = {"id": document.id, "url": document.url, "title": document.title}
                facts |= {"type": document.kind, "source": document.source}
                plain = f"{document.id}  {document.kind:8}  {document.url}"
                click.echo(json.dumps(facts) if self.order.as_json else shown_text(plain))
        return 0

    async def _stock(self) -> int:
        library = self.junto.knowledge.library
        await library.freshen()
        stock = await library.stock(LOCAL_CALLER)
        if self.order.as_json:
            rows = [
                {
                    "source": each.source,
                    "documents": each.documents,
                    "passages": each.passages,
                    "characters": each.characters,
                }
                for each in stock
            ]
            click.echo(json.dumps(rows, indent=2))
            return 0
        head = ("SOURCE", "DOCUMENTS", "PASSAGES", "CHARACTERS")
        rows_ = [
            (each.source, f"{each.documents:,}", f"{each.passages:,}", f"{each.characters:,}")
            for each in stock
        ]
        show([head, *rows_], right=head[1:])
        say("`junto index PATH` adds files and folders.")
        return 0

    def _tell(self) -> None:
        report = self._report
        if self.order.as_json:
            facts = {
                "added": report.added,
                "changed": report.changed,
                "unchanged": report.unchanged,
                "removed": report.removed,
                "failed": report.failed,
                "bytes": report.size,
                "skipped": dict(report.skipped),
                "problems": [{"name": name, "reason": why} for name, why in report.problems],
            }
            click.echo(json.dumps(facts, indent=2))
            return
        done = (
            f"{report.added:,} new, {report.changed:,} changed, {report.unchanged:,} unchanged, "
            f"{report.removed:,} removed"
        )
        click.echo(done)
        if report.skipped:
            skipped = ", ".join(f"{count:,} {why}" for why, count in report.skipped.most_common())
            say(f"left out: {skipped}")
        for name, why in report.problems[:_MOST_SHOWN]:
            line = " ".join(f"{name}: {why}".split("\n"))
            say(harmless(line))
        if report.failed > _MOST_SHOWN:
            more = report.failed - _MOST_SHOWN
            say(f"… and {more:,} more; --json tells of a thousand")


async def _shown(indexer: Indexer, wanted: Folder | File | Web) -> None:
    """Index something, and show how far it is."""
    total = await asyncio.to_thread(counted, wanted) if isinstance(wanted, Folder) else 1
    progress, before = Progress("indexing", "files", total), indexer.report.done

    def told(name: str, report: Report) -> None:
        progress.shows(report.done - before, name)

    try:
        await replace(indexer, told=told).index(wanted)
    finally:
        progress.ends()
