import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from typing_extensions import override

from junto.domain.documents import EVERYONE, Entry, Scope
from junto.domain.errors import InputOutputError, NotFoundError
from junto.kit.web import fetched
from junto.knowledge.ingest.removing import removed
from junto.knowledge.ingest.reports import Report
from junto.knowledge.ingest.targets import File, Folder, Web, target
from junto.knowledge.ingest.watching import changes
from junto.storage.sqlite.documents import SqliteDocuments
from tests.knowledge.support import Room, room
from tests.storage.libraries import ME, YOU


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Room]:
    async with room(tmp_path / "state") as made:
        yield made


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.md").write_text("# Elephants\n\nThey never forget.\n")
    (folder / "deep" / "b.py").write_text("def giraffe():\n    return 'tall'\n")
    (folder / "deep" / "er" / "c.txt").write_text("A zebra is striped.\n")
    age(folder)
    return folder


def age(folder: Path, seconds: int = 100) -> None:
    """Make files older than the last tick of the clock."""
    for path in folder.rglob("*"):
        if path.is_file():
            found = path.stat()
            os.utime(path, (found.st_atime - seconds, found.st_mtime - seconds))


def counts(report: Report) -> tuple[int, int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.removed, report.failed


async def test_a_folder_is_read_and_found(here: Room, docs: Path) -> None:
    report = await here.index(docs)

    assert counts(report) == (3, 0, 0, 0, 0)
    assert await here.found("elephants") == ["a.md"]
    assert await here.found("giraffe") == ["b.py"]
    [hit] = (await here.search.find(ME, "zebra", 5)).hits
    assert hit.document.url == (docs / "deep/er/c.txt").resolve().as_uri()
    assert (hit.document.title, hit.document.kind) == ("deep/er/c.txt", "text")
    assert hit.snippet == "A zebra is striped."


async def test_a_second_run_touches_only_what_has_changed(here: Room, docs: Path) -> None:
    await here.index(docs)
    (docs / "a.md").write_text("# Elephants\n\nThey do forget.\n")
    (docs / "deep" / "b.py").unlink()
    os.utime(docs / "deep/er/c.txt", (5, 5))  # touched, and the same
    (docs / "new.md").write_text("A yak.\n")

    report = await here.index(docs)

    assert counts(report) == (1, 1, 1, 1, 0)
    assert await here.found("giraffe") == []
    assert await here.found("yak") == ["new.md"]
    age(docs)
    assert counts(await here.index(docs)) == (0, 0, 3, 0, 0)
    again = await here.index(docs)
    assert (counts(again), again.size) == ((0, 0, 3, 0, 0), 0)  # nothing was even opened


async def test_what_lies_in_a_folder_that_is_gone_goes_too(here: Room, docs: Path) -> None:
    await here.index(docs)
    (docs / "deep" / "er" / "c.txt").unlink()
    (docs / "deep" / "er").rmdir()
    (docs / "deep" / "b.py").unlink()
    (docs / "deep").rmdir()
    beside = docs.parent / "docs2"
    beside.mkdir()
    (beside / "x.md").write_text("An okapi.\n")
    await here.index(beside)

    report = await here.index(docs)

    assert counts(report) == (0, 0, 1, 2, 0)
    assert await here.found("okapi") == ["x.md"]


async def test_what_is_ignored_from_now_on_is_removed(here: Room, docs: Path) -> None:
    await here.index(docs)
    (docs / ".gitignore").write_text("deep/er\n*.py\n")

    report = await here.index(docs)

    assert report.removed == 2
    assert await here.found("zebra giraffe") == []


async def test_a_pattern_means_its_files_alone(here: Room, docs: Path) -> None:
    await here.index(docs)
    (docs / "deep" / "d.md").write_text("A tapir.\n")
    (docs / "deep" / "er" / "c.txt").unlink()

    report = await here.index(f"{docs}/**/*.md")

    assert counts(report) == (1, 0, 1, 0, 0)  # c.txt is not meant
    assert await here.found("zebra") == ["c.txt"]
    (docs / "deep" / "d.md").unlink()
    assert counts(await here.index(f"{docs}/**/*.md")) == (0, 0, 1, 1, 0)


async def test_a_file_that_is_named_is_read_whatever_the_rules_say(here: Room, docs: Path) -> None:
    (docs / ".gitignore").write_text("*.log\n")
    (docs / "x.log").write_text("A lynx was seen.\n")

    report = await here.index(docs / "x.log")

    assert counts(report) == (1, 0, 0, 0, 0)
    assert await here.found("lynx") == ["x.log"]
    assert counts(await here.index(docs / "x.log")) == (0, 0, 1, 0, 0)


async def test_each_file_fails_for_itself(here: Room, docs: Path) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing\n")
    (docs / "large.txt").write_text("x" * 1_000_001)
    (docs / "binary").write_bytes(b"\x00\x01\x02" * 100)

    report = await here.index(docs)

    assert counts(report)[0] == 3
    problems = dict(report.problems)
    assert set(problems) == {"broken.pdf", "large.txt"}
    assert "1,000,000 bytes" in problems["large.txt"]
    assert report.skipped == {"binary files": 1}


async def test_a_file_that_cannot_be_read_any_more_stays_as_it_was(here: Room, docs: Path) -> None:
    await here.index(docs)
    (docs / "a.md").write_text("x" * 1_000_001)

    report = await here.index(docs)

    assert counts(report) == (0, 0, 2, 0, 1)
    assert await here.found("elephants") == ["a.md"]


async def test_odd_names_are_kept_and_found(here: Room, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    names = [b"new\nline.md", b"\xff\xfe.md", "\u7530\u4e2d.md".encode(), b"100% #1?.md", b"-rf.md"]
    for number, name in enumerate(names):
        (folder / os.fsdecode(name)).write_text(f"Quokka number {number}.")

    report = await here.index(folder)
    hits = (await here.search.find(ME, "quokka", 10)).hits

    assert counts(report) == (len(names), 0, 0, 0, 0)
    assert len(hits) == len(names)
    assert all("\n" not in hit.document.title + hit.document.url for hit in hits)
    for hit in hits:
        assert (await here.library.page(ME, hit.document.url)).text.startswith("Quokka")
    assert counts(await here.index(folder))[3:] == (0, 0)


async def test_a_file_from_before_all_time_is_read(here: Room, docs: Path) -> None:
    os.utime(docs / "a.md", (-(10**9), -(10**9)))
    os.utime(docs / "deep" / "b.py", (10**13, 10**13))

    assert counts(await here.index(docs)) == (3, 0, 0, 0, 0)
    [hit] = (await here.search.find(ME, "elephants", 5)).hits
    assert hit.document.modified == 0.0


async def test_others_do_not_find_what_is_not_shared(here: Room, docs: Path) -> None:
    await here.index(docs / "a.md")
    await here.index(docs / "deep", owner=YOU)
    await here.index(docs / "deep" / "er", owner=EVERYONE)

    assert await here.found("elephants", YOU) == []
    assert await here.found("giraffe", ME) == []
    assert await here.found("zebra", ME) == ["c.txt"]
    assert counts(await here.index(docs / "deep", owner=ME)) == (2, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    status: int
    content_type: str
    body: bytes


async def test_a_page_of_the_web_is_read(here: Room) -> None:
    pages = {
        "https://example.org/x": Page(
            "https://example.org/y",
            200,
            "text/html; charset=utf-8",
            b"<title>Birds</title><h1>Emus</h1><p>They run.</p>",
        ),
        "https://example.org/gone": Page("https://example.org/gone", 404, "", b""),
    }

    async def fetch(url: str, _most: int) -> Page:
        return pages[url]

    first = await here.index("https://example.org/x", fetch=fetch)
    second = await here.index("https://example.org/x", fetch=fetch)
    gone = await here.index("https://example.org/gone", fetch=fetch)

    assert (first.added, second.unchanged) == (1, 1)
    [hit] = (await here.search.find(ME, "emus", 5)).hits
    assert (hit.document.url, hit.document.title) == ("https://example.org/x", "Birds")
    assert gone.problems == [("https://example.org/gone", "It answered 404.")]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://169.254.169.254/", "http://[::1]/"])
async def test_a_page_that_is_not_public_is_not_fetched(here: Room, url: str) -> None:
    report = await here.index(url, fetch=fetched)

    assert report.failed == 1
    assert "public" in report.problems[0][1]


def test_words_name_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.md").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file.md")

    assert target("HTTPS://example.org/") == Web("HTTPS://example.org/")
    found = tmp_path.stat()
    identity = (found.st_dev, found.st_ino)
    assert target(".") == Folder(tmp_path.resolve(), None, identity)
    assert target("link") == File(tmp_path.resolve() / "file.md")
    assert target("*.md") == Folder(tmp_path.resolve(), "*.md", identity)
    for word in ("nothing", "nothing/*.md", "/dev/null"):
        with pytest.raises(NotFoundError):
            target(word)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
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
def test_a_pattern_fits(pattern: str, path: str, *, fits: bool) -> None:
    assert Folder(Path("/"), pattern).takes(path) is fits


async def test_what_was_indexed_is_removed_again(here: Room, docs: Path) -> None:
    await here.index(docs)
    await here.index(docs, owner=YOU)
    store = here.stores.documents
    [hit] = (await here.search.find(ME, "elephants", 5)).hits

    assert await removed(store, ME, hit.document.id) == 1
    assert await removed(store, ME, str(docs / "deep")) == 2
    assert await removed(store, ME, str(docs)) == 0
    assert len(await store.known(YOU, docs.as_uri())) == 1


async def test_what_changes_is_told(tmp_path: Path, docs: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    watched = [Folder(docs), Folder(other)]
    news = changes(watched)

    async def first() -> list[Folder | File]:
        return await anext(news)

    waiting = asyncio.create_task(first())
    async with asyncio.timeout(30):
        # Nobody says when the watch has begun, so the file is written until it is noticed.
        number = 0
        while not waiting.done():
            (docs / "deep" / "b.py").write_text(f"def okapi{number}(): ...\n")
            number += 1
            await asyncio.wait([waiting], timeout=0.2)

    assert waiting.result() == watched[:1]
    await news.aclose()


async def test_a_run_that_is_stopped_leaves_what_it_has_read(here: Room, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03}.md").write_text(f"Number {number}.")
    age(folder)

    def told(_name: str, report: Report) -> None:
        if report.done == 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await here.index(folder, told=told)
    kept = len(await here.stores.documents.listed(Scope(owner=ME), "", 1000))
    report = await here.index(folder)

    assert kept == 150
    assert (report.added, report.unchanged) == (300 - kept, kept)


async def test_a_store_that_fails_ends_the_run_and_is_not_blamed_on_files(
    here: Room, docs: Path
) -> None:
    class Full(SqliteDocuments):
        @override
        async def keep(self, _entries: Sequence[Entry]) -> None:
            raise InputOutputError("The disk is full.")

    assert isinstance(here.stores.documents, SqliteDocuments)
    indexer = replace(here.indexer(), store=Full(here.stores.documents.database))

    with pytest.raises(InputOutputError, match="The disk is full"):
        await indexer.index(Folder(docs))

    assert indexer.report.problems == []


async def test_a_folder_that_is_gone_is_told_and_what_was_in_it_stays(
    here: Room, docs: Path
) -> None:
    await here.index(docs)
    indexer = here.indexer()
    await asyncio.to_thread(docs.rename, docs.with_name("elsewhere"))

    await indexer.index(Folder(docs))

    assert indexer.report.failed == 1
    assert await here.found("elephants") == ["a.md"]


async def test_a_folder_that_has_become_a_link_is_not_followed(here: Room, docs: Path) -> None:
    meant = target(str(docs))
    indexer = here.indexer()
    await indexer.index(meant)
    elsewhere = docs.with_name("elsewhere")
    elsewhere.mkdir()
    (elsewhere / "secret.md").write_text("A wombat.\n")
    await asyncio.to_thread(docs.rename, docs.with_name("old"))
    await asyncio.to_thread(docs.symlink_to, elsewhere)

    await indexer.index(meant)

    assert indexer.report.problems == [(str(docs), f"{docs} is another folder now.")]
    assert await here.found("wombat") == []
    assert await here.found("elephants") == ["a.md"]


async def test_a_file_that_was_named_and_is_gone_is_removed(here: Room, docs: Path) -> None:
    meant = target(str(docs / "a.md"))
    await here.indexer().index(meant)
    (docs / "a.md").unlink()

    indexer = here.indexer()
    await indexer.index(meant)

    assert (indexer.report.removed, indexer.report.failed) == (1, 0)
    assert await here.found("elephants") == []


async def test_a_pipe_in_the_place_of_rules_stops_nobody(here: Room, docs: Path) -> None:
    (docs / ".git").mkdir()
    os.mkfifo(docs / ".gitignore")
    os.mkfifo(docs / "deep" / ".gitignore")

    assert counts(await here.index(docs / "deep"))[0] == 2


@pytest.mark.parametrize(
    "text",
    [
        "# aaaa\n## bbbb\n### cccc\n" + "###### dd\n###### ee\n" * 60_000,
        "." * 1_000_000,
        ("." * 500 + '"' * 500) * 1000,
    ],
    ids=["headings", "dots", "quotes"],
)
async def test_a_text_that_is_all_structure_takes_little(
    here: Room, tmp_path: Path, text: str
) -> None:
    (tmp_path / "odd.md").write_text(text)

    report = await here.index(tmp_path / "odd.md", largest=10_000_000)

    assert report.failed == 0
    [stock] = [each for each in await here.stores.documents.stock(ME) if each.source == "documents"]
    assert stock.passages <= 1000 + len(text) // 300
