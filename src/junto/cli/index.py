"""`junto index`: index files, directories, web pages and notes, or remove and list them."""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import click

from junto.app.application import Application, build_app
from junto.cli.progress import Progress
from junto.cli.table import print_table
from junto.cli.terminal_text import print_stderr, sanitize, sanitize_for_stdout
from junto.domain.conversations import LOCAL_OWNER
from junto.domain.documents import PUBLIC_OWNER, SearchScope, Source
from junto.domain.errors import JuntoError
from junto.knowledge.documents import MAX_NOTE_CHARS
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.ingest.indexer import Indexer, count_files, remove_documents
from junto.knowledge.ingest.report import IndexReport
from junto.knowledge.ingest.targets import (
    DirectoryTarget,
    FileTarget,
    Target,
    WebTarget,
    parse_target,
    watch_targets,
)
from junto.local_tools.web import fetch
from junto.settings import LoadedSettings

_MAX_PROBLEMS_SHOWN = 20
_STOPPED_MESSAGE = (
    "Stopped. What was read so far is searchable; the same command goes on from here."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions:
    """Options of `junto index`."""

    inputs: tuple[str, ...] = ()
    note: str | None = None
    title: str | None = None
    shared: bool = False
    remove: bool = False
    watch: bool = False
    words_only: bool = False
    as_json: bool = False
    listed: bool = False

    def check(self) -> None:
        """Check that the options do not contradict each other.

        Raises:
            UsageError: they do.
        """
        has_note = self.note is not None or "-" in self.inputs
        for is_invalid, reason in (
            (
                self.remove and not self.inputs,
                "--remove needs to know what: a path, an address, an id.",
            ),
            (
                self.remove and (has_note or self.watch),
                "--remove goes with nothing but what to remove.",
            ),
            (self.watch and not set(self.inputs) - {"-"}, "--watch needs files or folders."),
            (self.title and not has_note, "--title is for a note: --note TEXT, or - for a pipe."),
            (
                self.note is not None and "-" in self.inputs,
                "A note comes by --note or by -, not both.",
            ),
            (self.listed and self.inputs, "--list shows everything; `junto search path:…` less."),
            ("" in self.inputs, "An empty word names nothing; . is the folder you are in."),
        ):
            if is_invalid:
                raise click.UsageError(reason)


def run_index(loaded: LoadedSettings, options: IndexOptions) -> int:
    """Run the command with progress on standard error, and return the exit code."""
    options.check()
    if "-" in options.inputs:
        # Read before the event loop starts: a blocking read inside it would delay Ctrl-C.
        piped = sys.stdin.buffer.read(4 * MAX_NOTE_CHARS + 1).decode("utf-8", "replace")
        inputs = tuple(each for each in options.inputs if each != "-")
        options = replace(options, inputs=inputs, note=piped)
    with build_app(loaded, default_level="error") as junto:
        try:
            return asyncio.run(_IndexCommand(junto, options).run())
        except KeyboardInterrupt:
            print_stderr(_STOPPED_MESSAGE)
            return 130


@dataclass(slots=True)
class _IndexCommand:
    """One run of `junto index`."""

    junto: Application
    options: IndexOptions
    _report: IndexReport = field(default_factory=IndexReport, init=False)

    @property
    def _owner(self) -> str:
        return PUBLIC_OWNER if self.options.shared else LOCAL_OWNER

    async def run(self) -> int:
        options = self.options
        async with self.junto.open(background=False):
            if options.remove:
                return await self._remove()
            if options.note is not None:
                await self._add_note(options.note)
            elif options.listed:
                return await self._list_documents()
            elif not options.inputs:
                return await self._print_stats()
            targets = [parse_target(each) for each in options.inputs]
            async with DocumentParser() as parser:
                failed = await self._index_targets(self._build_indexer(parser), targets)
                if options.watch:
                    await self._watch(parser, targets)
        return 1 if failed else 0

    def _build_indexer(self, parser: DocumentParser) -> Indexer:
        return Indexer(
            store=self.junto.knowledge.documents.store,
            parser=parser,
            owner=self._owner,
            max_file_bytes=self.junto.settings.knowledge.largest_file,
            fetch=fetch,
            report=self._report,
        )

    async def _index_targets(self, indexer: Indexer, targets: Sequence[Target]) -> bool:
        """Index the targets; return whether a named file or URL could not be read."""
        failed = False
        for each in targets:
            before = self._report.failed
            await _index_with_progress(indexer, each)
            failed |= self._report.failed > before and not isinstance(each, DirectoryTarget)
        if targets:
            self._print_report()
        if not self.options.words_only:
            await self._embed_passages()
        return failed

    async def _watch(self, parser: DocumentParser, targets: Sequence[Target]) -> None:
        watched = [each for each in targets if isinstance(each, DirectoryTarget | FileTarget)]
        print_stderr("Watching; Ctrl-C ends it.")
        async with aclosing(watch_targets(watched)) as changes:
            async for changed in changes:
                self._report = IndexReport()
                await self._index_targets(self._build_indexer(parser), changed)

    async def _add_note(self, text: str) -> None:
        documents = self.junto.knowledge.documents
        note = await documents.add_note(self._owner, text, self.options.title)
        if self.options.as_json:
            click.echo(json.dumps({"id": note.id, "title": note.title, "url": note.url}, indent=2))
        else:
            click.echo(sanitize_for_stdout(f"{note.id}  {note.title}"))

    async def _embed_passages(self) -> None:
        """Embed passages that have no vector yet; keyword search works without."""
        worker = self.junto.knowledge.embedding_worker
        if worker is None:
            return
        progress = Progress("reading for meaning", "passages")

        def on_progress(remaining: int) -> None:
            progress.total = progress.total or remaining
            progress.update(progress.total - remaining)

        try:
            await worker.embed_pending(on_progress)
        except JuntoError as error:
            print_stderr(f"Searchable by words alone. {sanitize(error.message)}")
        finally:
            progress.clear()

    async def _remove(self) -> int:
        store = self.junto.knowledge.documents.store
        count = sum(
            [await remove_documents(store, self._owner, each) for each in self.options.inputs]
        )
        click.echo(
            json.dumps({"removed": count})
            if self.options.as_json
            else f"{count:,} documents removed"
        )
        return 0 if count else 1

    async def _list_documents(self) -> int:
        store, after = self.junto.knowledge.documents.store, ""
        sources = (Source.DOCUMENTS, Source.NOTES)
        while page := await store.list_documents(
            SearchScope(owner=LOCAL_OWNER, sources=sources), after, 500
        ):
            after = page[-1].url
            for document in page:
                facts = {"id": document.id, "url": document.url, "title": document.title}
                facts |= {"type": document.kind, "source": document.source}
                line = f"{document.id}  {document.kind:8}  {document.url}"
                click.echo(json.dumps(facts) if self.options.as_json else sanitize_for_stdout(line))
        return 0

    async def _print_stats(self) -> int:
        documents = self.junto.knowledge.documents
        await documents.refresh()
        stats = await documents.fetch_stats(LOCAL_OWNER)
        if self.options.as_json:
            entries = [
                {
                    "source": each.source,
                    "documents": each.documents,
                    "passages": each.passages,
                    "characters": each.characters,
                }
                for each in stats
            ]
            click.echo(json.dumps(entries, indent=2))
            return 0
        header = ("SOURCE", "DOCUMENTS", "PASSAGES", "CHARACTERS")
        rows = [
            (each.source, f"{each.documents:,}", f"{each.passages:,}", f"{each.characters:,}")
            for each in stats
        ]
        print_table([header, *rows], align_right=header[1:])
        print_stderr("`junto index PATH` adds files and folders.")
        return 0

    def _print_report(self) -> None:
        report = self._report
        if self.options.as_json:
            facts = {
                "added": report.added,
                "changed": report.changed,
                "unchanged": report.unchanged,
                "removed": report.removed,
                "failed": report.failed,
                "bytes": report.bytes_read,
                "skipped": dict(report.skipped),
                "problems": [{"name": name, "reason": reason} for name, reason in report.problems],
            }
            click.echo(json.dumps(facts, indent=2))
            return
        summary = (
            f"{report.added:,} new, {report.changed:,} changed, {report.unchanged:,} unchanged, "
            f"{report.removed:,} removed"
        )
        click.echo(summary)
        if report.skipped:
            counts = report.skipped.most_common()
            skipped = ", ".join(f"{count:,} {reason}" for reason, count in counts)
            print_stderr(f"left out: {skipped}")
        for name, reason in report.problems[:_MAX_PROBLEMS_SHOWN]:
            line = " ".join(f"{name}: {reason}".split("\n"))
            print_stderr(sanitize(line))
        if report.failed > _MAX_PROBLEMS_SHOWN:
            more = report.failed - _MAX_PROBLEMS_SHOWN
            print_stderr(f"… and {more:,} more; --json tells of a thousand")


async def _index_with_progress(
    indexer: Indexer, target: DirectoryTarget | FileTarget | WebTarget
) -> None:
    """Index a target and show its progress."""
    total = (
        await asyncio.to_thread(count_files, target) if isinstance(target, DirectoryTarget) else 1
    )
    progress, before = Progress("indexing", "files", total), indexer.report.file_count

    def on_progress(name: str, report: IndexReport) -> None:
        progress.update(report.file_count - before, name)

    try:
        await replace(indexer, on_progress=on_progress).index(target)
    finally:
        progress.clear()
