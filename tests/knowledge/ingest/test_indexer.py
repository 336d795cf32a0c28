import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from typing_extensions import override

from junto.domain.documents import PUBLIC_OWNER, DocumentEntry, SearchScope
from junto.domain.errors import InputOutputError, NotFoundError
from junto.knowledge.ingest.indexer import remove_documents
from junto.knowledge.ingest.report import IndexReport
from junto.knowledge.ingest.targets import (
    DirectoryTarget,
    FileTarget,
    WebTarget,
    parse_target,
    watch_targets,
)
from junto.local_tools.web import fetch
from junto.storage.sqlite.documents import SqliteDocuments
from tests.knowledge.knowledge_stores import KnowledgeStores, room
from tests.storage.document_stores import ME, YOU


@pytest.fixture
async def knowledge(tmp_path: Path) -> AsyncIterator[KnowledgeStores]:
    async with room(tmp_path / "state") as knowledge:
        yield knowledge


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.md").write_text("# Elephants\n\nThey never forget.\n")
    (folder / "deep" / "b.py").write_text("def giraffe():\n    return 'tall'\n")
    (folder / "deep" / "er" / "c.txt").write_text("A zebra is striped.\n")
    backdate(folder)
    return folder


def backdate(folder: Path, seconds: int = 100) -> None:
    """Move modification times into the past: files that changed just now are read again."""
    for path in folder.rglob("*"):
        if path.is_file():
            status = path.stat()
            os.utime(path, (status.st_atime - seconds, status.st_mtime - seconds))


def counts(report: IndexReport) -> tuple[int, int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.removed, report.failed


async def test_a_folder_is_indexed_and_found(knowledge: KnowledgeStores, docs: Path) -> None:
    report = await knowledge.index(docs)

    assert counts(report) == (3, 0, 0, 0, 0)
    assert await knowledge.find("elephants") == ["a.md"]
    assert await knowledge.find("giraffe") == ["b.py"]
    [hit] = (await knowledge.search.find(ME, "zebra", 5)).hits
    assert hit.document.url == (docs / "deep/er/c.txt").resolve().as_uri()
    assert (hit.document.title, hit.document.kind) == ("deep/er/c.txt", "text")
    assert hit.snippet == "A zebra is striped."


async def test_a_second_run_updates_only_what_has_changed(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs)
    (docs / "a.md").write_text("# Elephants\n\nThey do forget.\n")
    (docs / "deep" / "b.py").unlink()
    os.utime(docs / "deep/er/c.txt", (5, 5))  # touched, but not changed
    (docs / "new.md").write_text("A yak.\n")

    report = await knowledge.index(docs)

    assert counts(report) == (1, 1, 1, 1, 0)
    assert await knowledge.find("giraffe") == []
    assert await knowledge.find("yak") == ["new.md"]
    backdate(docs)
    assert counts(await knowledge.index(docs)) == (0, 0, 3, 0, 0)
    again = await knowledge.index(docs)
    assert (counts(again), again.bytes_read) == ((0, 0, 3, 0, 0), 0)  # nothing was even opened


async def test_files_in_a_deleted_folder_are_removed(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs)
    (docs / "deep" / "er" / "c.txt").unlink()
    (docs / "deep" / "er").rmdir()
    (docs / "deep" / "b.py").unlink()
    (docs / "deep").rmdir()
    sibling = docs.parent / "docs2"
    sibling.mkdir()
    (sibling / "x.md").write_text("An okapi.\n")
    await knowledge.index(sibling)

    report = await knowledge.index(docs)

    assert counts(report) == (0, 0, 1, 2, 0)
    assert await knowledge.find("okapi") == ["x.md"]


async def test_files_that_become_ignored_are_removed(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs)
    (docs / ".gitignore").write_text("deep/er\n*.py\n")

    report = await knowledge.index(docs)

    assert report.removed == 2
    assert await knowledge.find("zebra giraffe") == []


async def test_a_pattern_affects_only_the_files_it_matches(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs)
    (docs / "deep" / "d.md").write_text("A tapir.\n")
    (docs / "deep" / "er" / "c.txt").unlink()

    report = await knowledge.index(f"{docs}/**/*.md")

    assert counts(report) == (1, 0, 1, 0, 0)  # c.txt does not match
    assert await knowledge.find("zebra") == ["c.txt"]
    (docs / "deep" / "d.md").unlink()
    assert counts(await knowledge.index(f"{docs}/**/*.md")) == (0, 0, 1, 1, 0)


async def test_a_file_given_by_name_is_indexed_even_if_it_is_ignored(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    (docs / ".gitignore").write_text("*.log\n")
    (docs / "x.log").write_text("A lynx was seen.\n")

    report = await knowledge.index(docs / "x.log")

    assert counts(report) == (1, 0, 0, 0, 0)
    assert await knowledge.find("lynx") == ["x.log"]
    assert counts(await knowledge.index(docs / "x.log")) == (0, 0, 1, 0, 0)


async def test_a_file_that_fails_does_not_stop_the_others(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing\n")
    (docs / "large.txt").write_text("x" * 1_000_001)
    (docs / "binary").write_bytes(b"\x00\x01\x02" * 100)

    report = await knowledge.index(docs)

    assert counts(report)[0] == 3
    problems = dict(report.problems)
    assert set(problems) == {"broken.pdf", "large.txt"}
    assert "1,000,000 bytes" in problems["large.txt"]
    assert report.skipped == {"binary files": 1}


async def test_a_file_that_becomes_unreadable_keeps_its_indexed_text(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs)
    (docs / "a.md").write_text("x" * 1_000_001)

    report = await knowledge.index(docs)

    assert counts(report) == (0, 0, 2, 0, 1)
    assert await knowledge.find("elephants") == ["a.md"]


async def test_files_with_odd_names_are_indexed_and_found(
    knowledge: KnowledgeStores, tmp_path: Path
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    names = [b"new\nline.md", b"\xff\xfe.md", "\u7530\u4e2d.md".encode(), b"100% #1?.md", b"-rf.md"]
    for number, name in enumerate(names):
        (folder / os.fsdecode(name)).write_text(f"Quokka number {number}.")

    report = await knowledge.index(folder)
    hits = (await knowledge.search.find(ME, "quokka", 10)).hits

    assert counts(report) == (len(names), 0, 0, 0, 0)
    assert len(hits) == len(names)
    assert all("\n" not in hit.document.title + hit.document.url for hit in hits)
    for hit in hits:
        assert (await knowledge.library.read_page(ME, hit.document.url)).text.startswith("Quokka")
    assert counts(await knowledge.index(folder))[3:] == (0, 0)


async def test_files_with_extreme_timestamps_are_indexed(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    os.utime(docs / "a.md", (-(10**9), -(10**9)))
    os.utime(docs / "deep" / "b.py", (10**13, 10**13))

    assert counts(await knowledge.index(docs)) == (3, 0, 0, 0, 0)
    [hit] = (await knowledge.search.find(ME, "elephants", 5)).hits
    assert hit.document.modified == 0.0


async def test_documents_are_found_by_others_only_if_they_are_public(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs / "a.md")
    await knowledge.index(docs / "deep", owner=YOU)
    await knowledge.index(docs / "deep" / "er", owner=PUBLIC_OWNER)

    assert await knowledge.find("elephants", YOU) == []
    assert await knowledge.find("giraffe", ME) == []
    assert await knowledge.find("zebra", ME) == ["c.txt"]
    assert counts(await knowledge.index(docs / "deep", owner=ME)) == (2, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    status: int
    content_type: str
    body: bytes


async def test_a_web_page_is_indexed(knowledge: KnowledgeStores) -> None:
    pages = {
        "https://example.org/x": Page(
            "https://example.org/y",
            200,
            "text/html; charset=utf-8",
            b"<title>Birds</title><h1>Emus</h1><p>They run.</p>",
        ),
        "https://example.org/gone": Page("https://example.org/gone", 404, "", b""),
    }

    async def fetch(url: str, _max_bytes: int) -> Page:
        return pages[url]

    first = await knowledge.index("https://example.org/x", fetch=fetch)
    second = await knowledge.index("https://example.org/x", fetch=fetch)
    missing = await knowledge.index("https://example.org/gone", fetch=fetch)

    assert (first.added, second.unchanged) == (1, 1)
    [hit] = (await knowledge.search.find(ME, "emus", 5)).hits
    assert (hit.document.url, hit.document.title) == ("https://example.org/x", "Birds")
    assert missing.problems == [("https://example.org/gone", "It answered 404.")]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://169.254.169.254/", "http://[::1]/"])
async def test_a_page_at_a_private_address_is_not_fetched(
    knowledge: KnowledgeStores, url: str
) -> None:
    report = await knowledge.index(url, fetch=fetch)

    assert report.failed == 1
    assert "public" in report.problems[0][1]


def test_targets_are_parsed_from_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.md").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file.md")

    assert parse_target("HTTPS://example.org/") == WebTarget("HTTPS://example.org/")
    status = tmp_path.stat()
    identity = (status.st_dev, status.st_ino)
    assert parse_target(".") == DirectoryTarget(tmp_path.resolve(), None, identity)
    assert parse_target("link") == FileTarget(tmp_path.resolve() / "file.md")
    assert parse_target("*.md") == DirectoryTarget(tmp_path.resolve(), "*.md", identity)
    for text in ("nothing", "nothing/*.md", "/dev/null"):
        with pytest.raises(NotFoundError):
            parse_target(text)


@pytest.mark.parametrize(
    ("pattern", "path", "is_included"),
    [
        ("*.md", "a.md", True),
        ("*.md", "b/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "b/c/a.md", True),
        ("b/**", "b/c/a.md", True),
        ("b/**/a.md", "b/a.md", True),
        ("[ab].md", "a.md", True),
        ("[ab].md", "c.md", False),
    ],
)
def test_a_pattern_includes_the_paths_it_matches(
    pattern: str, path: str, *, is_included: bool
) -> None:
    assert DirectoryTarget(Path("/"), pattern).includes(path) is is_included


async def test_documents_are_removed_by_id_or_by_path(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs)
    await knowledge.index(docs, owner=YOU)
    store = knowledge.stores.documents
    [hit] = (await knowledge.search.find(ME, "elephants", 5)).hits

    assert await remove_documents(store, ME, hit.document.id) == 1
    assert await remove_documents(store, ME, str(docs / "deep")) == 2
    assert await remove_documents(store, ME, str(docs)) == 0
    assert len(await store.load_indexed_states(YOU, docs.as_uri())) == 1


async def test_the_target_of_a_changed_file_is_reported(tmp_path: Path, docs: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    watched = [DirectoryTarget(docs), DirectoryTarget(other)]
    changes = watch_targets(watched)

    async def next_change() -> list[DirectoryTarget | FileTarget]:
        return await anext(changes)

    pending = asyncio.create_task(next_change())
    async with asyncio.timeout(30):
        # Nothing says when watching has started, so the file is written until it is noticed.
        number = 0
        while not pending.done():
            (docs / "deep" / "b.py").write_text(f"def okapi{number}(): ...\n")
            number += 1
            await asyncio.wait([pending], timeout=0.2)

    assert pending.result() == watched[:1]
    await changes.aclose()


async def test_an_interrupted_run_keeps_what_it_has_indexed(
    knowledge: KnowledgeStores, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03}.md").write_text(f"Number {number}.")
    backdate(folder)

    def interrupt(_name: str, report: IndexReport) -> None:
        if report.file_count == 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await knowledge.index(folder, on_progress=interrupt)
    indexed = len(await knowledge.stores.documents.list_documents(SearchScope(owner=ME), "", 1000))
    report = await knowledge.index(folder)

    assert indexed == 150
    assert (report.added, report.unchanged) == (300 - indexed, indexed)


async def test_a_failing_store_ends_the_run_and_is_not_reported_as_a_file_problem(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    class FullStore(SqliteDocuments):
        @override
        async def save(self, _entries: Sequence[DocumentEntry]) -> None:
            raise InputOutputError("The disk is full.")

    assert isinstance(knowledge.stores.documents, SqliteDocuments)
    indexer = replace(
        knowledge.build_indexer(), store=FullStore(knowledge.stores.documents.database)
    )

    with pytest.raises(InputOutputError, match="The disk is full"):
        await indexer.index(DirectoryTarget(docs))

    assert indexer.report.problems == []


async def test_a_missing_folder_is_reported_and_its_documents_are_kept(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    await knowledge.index(docs)
    indexer = knowledge.build_indexer()
    await asyncio.to_thread(docs.rename, docs.with_name("elsewhere"))

    await indexer.index(DirectoryTarget(docs))

    assert indexer.report.failed == 1
    assert await knowledge.find("elephants") == ["a.md"]


async def test_a_folder_replaced_by_a_link_is_not_followed(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    target = parse_target(str(docs))
    indexer = knowledge.build_indexer()
    await indexer.index(target)
    elsewhere = docs.with_name("elsewhere")
    elsewhere.mkdir()
    (elsewhere / "secret.md").write_text("A wombat.\n")
    await asyncio.to_thread(docs.rename, docs.with_name("old"))
    await asyncio.to_thread(docs.symlink_to, elsewhere)

    await indexer.index(target)

    assert indexer.report.problems == [(str(docs), f"{docs} is another folder now.")]
    assert await knowledge.find("wombat") == []
    assert await knowledge.find("elephants") == ["a.md"]


async def test_a_file_given_by_name_that_no_longer_exists_is_removed(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    target = parse_target(str(docs / "a.md"))
    await knowledge.build_indexer().index(target)
    (docs / "a.md").unlink()

    indexer = knowledge.build_indexer()
    await indexer.index(target)

    assert (indexer.report.removed, indexer.report.failed) == (1, 0)
    assert await knowledge.find("elephants") == []


async def test_a_named_pipe_called_gitignore_does_not_block_indexing(
    knowledge: KnowledgeStores, docs: Path
) -> None:
    (docs / ".git").mkdir()
    os.mkfifo(docs / ".gitignore")
    os.mkfifo(docs / "deep" / ".gitignore")

    assert counts(await knowledge.index(docs / "deep"))[0] == 2


@pytest.mark.parametrize(
    "text",
    [
        "# aaaa\n## bbbb\n### cccc\n" + "###### dd\n###### ee\n" * 60_000,
        "." * 1_000_000,
        ("." * 500 + '"' * 500) * 1000,
    ],
    ids=["headings", "dots", "quotes"],
)
async def test_a_text_that_is_all_structure_gives_few_passages(
    knowledge: KnowledgeStores, tmp_path: Path, text: str
) -> None:
    (tmp_path / "odd.md").write_text(text)

    report = await knowledge.index(tmp_path / "odd.md", max_file_bytes=10_000_000)

    assert report.failed == 0
    [stats] = [
        source_stats
        for source_stats in await knowledge.stores.documents.load_index_stats(ME)
        if source_stats.source == "documents"
    ]
    assert stats.passages <= 1000 + len(text) // 300
