"""What every store of documents must do, in a file, in memory and in PostgreSQL."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.conversations import Conversation, Said
from junto.domain.documents import (
    EVERYONE,
    Entry,
    Known,
    Match,
    Model,
    Scope,
    Source,
)
from junto.domain.messages import Message
from junto.storage.words import phrases
from tests.storage.libraries import (
    LATER,
    ME,
    MODEL,
    YOU,
    Library,
    entry,
    message_entry,
    on_postgres,
    on_sqlite,
    vector,
)

MINE = Scope(owner=ME)


@pytest.fixture(params=["file", "memory", "postgres"])
async def library(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Library]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            yield on_postgres(request.getfixturevalue("postgres_url"), stack)
        else:
            path = tmp_path / "junto.db" if request.param == "file" else None
            yield on_sqlite(path, tmp_path, stack)


@pytest.fixture(params=["file", "postgres"])
async def pair(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[Library, Library]]:
    """Open the same database twice, as two servers do."""
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield on_postgres(url, stack), on_postgres(url, stack)
        else:
            path = tmp_path / "junto.db"
            yield on_sqlite(path, tmp_path, stack), on_sqlite(path, tmp_path, stack)


async def shown(library: Library, matches: tuple[Match, ...]) -> list[tuple[str, str]]:
    found = await library.search.passages([match.key for match in matches])
    passages = [found[match.key] for match in matches if match.key in found]
    return [(passage.document.id, passage.text) for passage in passages]


async def by_words(library: Library, query: str, scope: Scope = MINE) -> list[str]:
    found = await library.search.by_words(scope, phrases(query), 10)
    return [id_ for id_, _ in await shown(library, found)]


async def by_meaning(
    library: Library, wanted: bytes, scope: Scope = MINE, model: Model = MODEL
) -> list[str]:
    found = await library.search.by_meaning(scope, model, wanted, 10)
    return [id_ for id_, _ in await shown(library, found)]


async def keys(library: Library, query: str, scope: Scope = MINE) -> list[int]:
    return [match.key for match in await library.search.by_words(scope, phrases(query), 10)]


async def test_a_document_is_kept_with_all_that_belongs_to_it(library: Library) -> None:
    kept = entry("a", "One two.", "Three \U0001f418 four.")
    path = ("Part \u4e00", "Chapter")
    kept = replace(kept, pieces=(kept.pieces[0], replace(kept.pieces[1], path=path)))

    await library.documents.keep([kept])

    assert await library.documents.find(ME, "a") == kept.document
    assert await library.documents.find(ME, "file:///docs/a") == kept.document
    assert await library.documents.text(ME, "a", 0, 100) == "One two.\n\nThree \U0001f418 four."
    assert await library.documents.text(ME, "a", 10, 17) == "Three \U0001f418"
    [match] = await library.search.by_words(MINE, phrases("three"), 5)
    passage = (await library.search.passages([match.key]))[match.key]
    assert (passage.text, passage.path) == ("Three \U0001f418 four.", path)
    assert (passage.start, passage.end) == (10, 24 - 1)
    assert match.score > 0


async def test_any_part_of_a_long_text_can_be_read(library: Library) -> None:
    long = entry("a", *(f"\U0001f418 word{number:05} " * 100 for number in range(80)))
    await library.documents.keep([long])

    for start in (0, 32_000, 32_768, 65_535, len(long.text) - 10, len(long.text) + 10):
        part = await library.documents.text(ME, "a", start, start + 1000)
        assert part == long.text[start : start + 1000]
    assert await library.documents.text(ME, "a", 5, 10**9) == long.text[5:]
    found = await library.search.passages(range(1, 81))
    assert {passage.text for passage in found.values()} == {
        long.text[piece.start : piece.end] for piece in long.pieces
    }
    await library.documents.keep([entry("a", "short")])
    assert await library.documents.text(ME, "a", 0, 10**6) == "short"
    await library.documents.keep([entry("a")])
    assert await library.documents.text(ME, "a", 0, 10**6) == ""


async def test_text_that_no_database_takes_is_kept_without_what_it_does_not_take(
    library: Library,
) -> None:
    text = "before\0after half"
    await library.documents.keep([entry("a", text, title="a\0b")])

    found = await library.documents.text(ME, "a", 0, 100)

    assert found == "before after half"
    assert await by_words(library, "before") == ["a"]


@pytest.mark.feature("F243")
async def test_passages_are_found_by_their_words(library: Library) -> None:
    await library.documents.keep(
        [
            entry("a", "The quick brown fox jumps over the lazy dog"),
            entry("b", "Foxes were running through the forest"),
            entry("c", "Nothing of interest here", title="Zebra crossings"),
            entry("d", "\u4eca\u5929\u5929\u6c14\u5f88\u597d, we said"),
        ]
    )

    assert set(await by_words(library, "fox")) == {"a", "b"}  # as one word and as many
    assert (await by_words(library, "brown fox"))[0] == "a"  # the more words the better
    assert set(await by_words(library, "brown interest")) == {"a", "c"}
    assert await by_words(library, "zebra") == ["c"]  # by the title
    assert await by_words(library, "\u5929\u6c14") == ["d"]
    assert await by_words(library, "\u6c14\u5929") == []
    assert await by_words(library, '" OR NEAR( * ^') == []
    assert await by_words(library, "unheard") == []
    assert await library.search.by_words(MINE, (), 5) == ()


async def test_words_are_found_however_they_are_joined_or_written(library: Library) -> None:
    await library.documents.keep(
        [
            entry("path", "See src/junto/cellar.py for more"),
            entry("address", "It is at https://example.org/wardrobe?key=value#part"),
            entry("mail", "Write to umbrella@example.org"),
            entry("hyphen", "A well-furnished room"),
            entry("name", "call most_curtains(x)"),
            entry("accent", "Das CAF\u00c9 und die \u00c4hre"),
            entry("common", "before and after"),
        ]
    )

    assert await by_words(library, "cellar") == ["path"]
    assert await by_words(library, "junto/cellar.py") == ["path"]
    assert await by_words(library, "wardrobe") == ["address"]
    assert await by_words(library, "umbrella") == ["mail"]
    assert await by_words(library, "furnished") == ["hyphen"]
    assert await by_words(library, "curtains") == ["name"]
    assert await by_words(library, "most_curtains") == ["name"]
    assert await by_words(library, "caf\u00e9") == ["accent"]
    assert await by_words(library, "\u00e4hre") == ["accent"]
    assert await by_words(library, "before") == ["common"]


async def test_a_rare_word_tells_more_than_a_common_one(library: Library) -> None:
    many = [entry(f"n{number}", "pressure of the flow") for number in range(60)]
    await library.documents.keep([*many, entry("x", "a long text on pressure and a zeppelin")])

    assert (await by_words(library, "flow pressure zeppelin"))[0] == "x"


@pytest.mark.parametrize("kind", ["file", "postgres"])
@pytest.mark.parametrize("words", ["needle", "needle common"])
async def test_words_that_are_everywhere_are_found_all_the_same(
    kind: str, words: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with AsyncExitStack() as stack:
        library = (
            on_postgres(request.getfixturevalue("postgres_url"), stack, most_ranked=5)
            if kind == "postgres"
            else on_sqlite(tmp_path / "junto.db", tmp_path, stack, most_ranked=5)
        )
        await library.documents.keep([entry(f"m{n}", "needle common") for n in range(20)])
        await library.documents.keep([entry(f"y{n}", "needle", owner=YOU) for n in range(20)])

        found = await by_words(library, words)

        assert len(found) >= 5
        assert all(id_.startswith("m") for id_ in found)
        narrow = replace(MINE, kinds=("pdf",))
        await library.documents.keep([entry("x", "needle common", kind="pdf")])
        await library.documents.keep([entry(f"n{n}", "needle common") for n in range(20)])
        assert await by_words(library, words, narrow) == ["x"]


async def test_nobody_finds_what_is_somebody_elses(library: Library) -> None:
    await library.documents.keep(
        [
            entry("mine", "a secret elephant"),
            entry("yours", "a secret elephant", owner=YOU),
            entry("all", "an open elephant", owner=EVERYONE),
        ]
    )
    found = [
        key for owner in (ME, YOU) for key in await keys(library, "elephant", Scope(owner=owner))
    ]
    await library.vectors.place(MODEL, dict.fromkeys(found, vector(1, 0, 0)))

    for owner, own in ((ME, "mine"), (YOU, "yours"), ("nobody", None)):
        expected = {own, "all"} - {None}
        scope = Scope(owner=owner)
        assert set(await by_words(library, "elephant", scope)) == expected
        assert set(await by_meaning(library, vector(1, 0, 0), scope)) == expected
        listed = await library.documents.listed(scope, "", 10)
        assert {document.id for document in listed} == expected
    assert await library.documents.find(YOU, "mine") is None
    assert await library.documents.find(YOU, "file:///docs/mine") is None
    assert await library.documents.text(YOU, "mine", 0, 10) == ""
    assert await library.documents.forget(YOU, ["mine"]) == 0
    assert await library.documents.known(YOU, "file:///docs") != {}
    assert "file:///docs/mine" not in await library.documents.known(YOU, "file:///docs")


async def test_the_same_id_may_be_anothers_too(library: Library) -> None:
    await library.documents.keep([entry("x", "my words"), entry("x", "your words", owner=YOU)])

    assert await library.documents.text(ME, "x", 0, 99) == "my words"
    assert await library.documents.text(YOU, "x", 0, 99) == "your words"


async def test_a_scope_narrows_what_is_found(library: Library) -> None:
    await library.documents.keep(
        [
            entry("a", "elephant", kind="pdf", modified=10.0, url="file:///Docs/x%20y/a.pdf"),
            entry("b", "elephant", kind="markdown", modified=20.0, source=Source.NOTES),
            entry(
                "c", "elephant", kind="code", modified=30.0, owner=EVERYONE, source=Source.SYSTEM
            ),
        ]
    )
    found = await keys(library, "elephant")
    await library.vectors.place(MODEL, dict.fromkeys(found, vector(1, 0, 0)))

    for scope, expected in (
        (MINE, {"a", "b", "c"}),
        (replace(MINE, sources=(Source.NOTES,)), {"b"}),
        (replace(MINE, sources=(Source.NOTES, Source.SYSTEM)), {"b", "c"}),
        (replace(MINE, kinds=("pdf", "code")), {"a", "c"}),
        (replace(MINE, path="docs/X%20y"), {"a"}),
        (replace(MINE, path="100%"), set()),
        (replace(MINE, after=20.0), {"b", "c"}),
        (replace(MINE, before=20.0), {"a"}),
        (replace(MINE, after=15.0, before=25.0, kinds=("markdown",)), {"b"}),
    ):
        assert set(await by_words(library, "elephant", scope)) == expected
        assert set(await by_meaning(library, vector(1, 0, 0), scope)) == expected
        listed = await library.documents.listed(scope, "", 10)
        assert {document.id for document in listed} == expected


async def test_one_document_in_a_crowd_is_found_however_narrow_the_scope(library: Library) -> None:
    await library.documents.keep([entry(f"n{n:03}", "elephant") for n in range(500)])
    await library.documents.keep([entry("x", "an elephant among many", kind="pdf")])
    all_keys = {match.key for match in await library.search.by_words(MINE, ("elephant",), 1000)}
    [own] = [match.key for match in await library.search.by_words(MINE, ("many",), 2)]
    near = dict.fromkeys(all_keys, vector(1, 0.1, 0)) | {own: vector(0, 0, 1)}
    await library.vectors.place(MODEL, near)
    scope = replace(MINE, kinds=("pdf",))

    assert len(all_keys) == 501
    assert await by_words(library, "elephant", scope) == ["x"]
    assert await by_meaning(library, vector(1, 0, 0), scope) == ["x"]


async def test_the_nearest_come_first_with_their_cosine(library: Library) -> None:
    texts = {"a": (1.0, 0.0, 0.0), "b": (0.6, 0.8, 0.0), "c": (-1.0, 0.0, 0.0)}
    await library.documents.keep([entry(id_, f"word {id_}{id_}") for id_ in texts])
    for id_, numbers in texts.items():
        [key] = await keys(library, id_ * 2)
        await library.vectors.place(MODEL, {key: vector(*numbers)})

    found = await library.search.by_meaning(MINE, MODEL, vector(1, 0, 0), 10)

    assert [id_ for id_, _ in await shown(library, found)] == ["a", "b", "c"]
    assert [round(match.score, 2) for match in found] == [1.0, 0.6, -1.0]
    assert len(await library.search.by_meaning(MINE, MODEL, vector(1, 0, 0), 2)) == 2
    assert await library.search.by_meaning(MINE, Model("other", 3), vector(1, 0, 0), 9) == ()


async def test_what_has_no_vector_yet_is_told(library: Library) -> None:
    await library.documents.keep([entry("a", "one", "two", "three", title="T")])

    first = await library.vectors.unplaced(MODEL, 0, 2)
    rest = await library.vectors.unplaced(MODEL, first[-1].key, 5)

    assert [each.text for each in (*first, *rest)] == ["T\none", "T\ntwo", "T\nthree"]
    assert await library.vectors.left(MODEL) == 3
    await library.vectors.place(MODEL, {first[0].key: vector(1, 0, 0), 10**9: vector(1, 0, 0)})
    await library.vectors.place(MODEL, {first[0].key: vector(0, 1, 0)})  # twice does no harm
    assert await library.vectors.left(MODEL) == 2
    assert await library.vectors.unplaced(MODEL, 0, 9) == (first[1], *rest)


async def test_another_model_has_its_own_vectors(library: Library) -> None:
    other = Model("other", 2)
    await library.documents.keep([entry("a", "one"), entry("b", "two")])
    [one] = await keys(library, "one")
    [two] = await keys(library, "two")
    await library.vectors.place(MODEL, {one: vector(1, 0, 0), two: vector(0, 1, 0)})
    await library.vectors.place(other, {one: vector(1, 0)})

    assert await library.vectors.left(other) == 1
    assert await by_meaning(library, vector(1, 0), model=other) == ["a"]
    await library.vectors.place(other, {two: vector(0, 1)})
    await library.vectors.settle(other, LATER)
    assert await by_meaning(library, vector(0, 1), model=other) == ["b", "a"]
    assert await by_meaning(library, vector(1, 0, 0)) == []
    assert await library.vectors.left(MODEL) == 2


async def test_vectors_of_a_model_that_somebody_uses_are_not_dropped(library: Library) -> None:
    other, now = Model("other", 2), time.time()
    await library.documents.keep([entry("a", "one")])
    [one] = await keys(library, "one")
    await library.vectors.place(MODEL, {one: vector(1, 0, 0)})
    await library.vectors.place(other, {one: vector(1, 0)})

    await library.vectors.settle(other, now - 60)
    assert await library.vectors.left(MODEL) == 0  # they are new
    await library.vectors.use(MODEL, now + 1000)
    await library.vectors.settle(other, now + 900)
    assert await library.vectors.left(MODEL) == 0
    await library.vectors.settle(other, now + 1001)
    assert await library.vectors.left(MODEL) == 1
    assert await library.vectors.left(other) == 0


async def test_a_document_that_changes_keeps_the_vectors_of_what_stays(library: Library) -> None:
    await library.documents.keep([entry("a", "first", "second", "third")])
    before = {each.text: each.key for each in await library.vectors.unplaced(MODEL, 0, 9)}
    await library.vectors.place(MODEL, dict.fromkeys(before.values(), vector(1, 0, 0)))

    await library.documents.keep([entry("a", "zeroth", "second", "third, changed", digest="e")])

    [new, changed] = await library.vectors.unplaced(MODEL, 0, 9)
    assert {new.text, changed.text} == {"a\nzeroth", "a\nthird, changed"}
    assert await keys(library, "second") == [before["a\nsecond"]]
    assert await by_words(library, "first") == []
    found = await library.search.passages([before["a\nsecond"], before["a\nfirst"]])
    assert [passage.text for passage in found.values()] == ["second"]  # where it is now
    assert len(await by_meaning(library, vector(1, 0, 0))) == 1
    found_document = await library.documents.find(ME, "a")
    assert found_document
    assert found_document.digest == "e"


async def test_what_is_forgotten_is_found_no_more(library: Library) -> None:
    await library.documents.keep([entry("a", "one"), entry("b", "one")])
    await library.vectors.place(MODEL, dict.fromkeys(await keys(library, "one"), vector(1, 0, 0)))
    assert set(await by_meaning(library, vector(1, 0, 0))) == {"a", "b"}

    assert await library.documents.forget(ME, ["a", "unknown"]) == 1

    assert await by_words(library, "one") == ["b"]
    assert await by_meaning(library, vector(1, 0, 0)) == ["b"]
    assert await library.documents.find(ME, "a") is None
    assert await library.vectors.left(MODEL) == 0


async def test_folders_tell_what_they_hold(library: Library) -> None:
    def at(folder: str, name: str, owner: str = ME) -> Entry:
        return entry(f"{folder}{name}", "x", url=f"{folder}/{name}", folder=folder, owner=owner)

    await library.documents.keep(
        [
            at("file:///a", "1"),
            at("file:///a/b", "2"),
            at("file:///a/b", "3"),
            at("file:///a/b/c%25_", "4"),
            at("file:///ab", "5"),
            at("file:///a/you", "6", YOU),
            entry("note", "x", folder="", url="junto://document/note"),
        ]
    )

    known = await library.documents.known(ME, "file:///a/b")

    assert set(known) == {"file:///a/b/2", "file:///a/b/3"}
    assert known["file:///a/b/2"] == Known("file:///a/b2", "d", 10, 100.0, 200.0)
    everything = ("file:///a", "file:///a/b", "file:///a/b/c%25_")
    assert await library.documents.folders(ME, "file:///a", "", 10) == everything
    assert await library.documents.folders(ME, "file:///a", "file:///a", 1) == everything[1:2]
    assert await library.documents.folders(ME, "file:///a/b", "", 10) == everything[1:]
    await library.documents.confirm(ME, [Known("file:///a/b2", "d", 11, 101.0, 201.0)])
    again = await library.documents.known(ME, "file:///a/b")
    assert again["file:///a/b/2"] == Known("file:///a/b2", "d", 11, 101.0, 201.0)


async def test_addresses_may_be_long(library: Library) -> None:
    folder = "file:///" + "".join(f"{number * 7919 % 10000}/" for number in range(1500))
    kept = entry("a", "one", url=f"{folder}a", folder=folder)

    await library.documents.keep([kept, entry("b", "two", url=f"{folder}b", folder=folder)])

    assert await library.documents.find(ME, f"{folder}a") == kept.document
    assert set(await library.documents.known(ME, folder)) == {f"{folder}a", f"{folder}b"}
    assert await library.documents.folders(ME, "file://", "", 5) == (folder,)


async def test_the_last_of_two_with_one_id_is_kept(library: Library) -> None:
    await library.documents.keep([entry("a", "one", "two"), entry("a", "two", "three")])

    assert await library.documents.text(ME, "a", 0, 99) == "two\n\nthree"
    assert await by_words(library, "one") == []
    assert len(await keys(library, "two three")) == 2


async def test_the_stock_is_counted_by_source(library: Library) -> None:
    await library.documents.keep(
        [
            entry("a", "one", "two"),
            entry("b", "three"),
            entry("n", "four", source=Source.NOTES),
            entry("s", "five", source=Source.SYSTEM, owner=EVERYONE),
            entry("y", "six", owner=YOU),
        ]
    )

    stock = await library.documents.stock(ME)

    assert {(each.source, each.documents, each.passages, each.characters) for each in stock} == {
        (Source.DOCUMENTS, 2, 3, 13),
        (Source.NOTES, 1, 1, 4),
        (Source.SYSTEM, 1, 1, 4),
    }


async def test_documents_are_listed_page_by_page(library: Library) -> None:
    await library.documents.keep([entry(name, "x") for name in ("c", "a", "b")])

    first = await library.documents.listed(MINE, "", 2)
    rest = await library.documents.listed(MINE, first[-1].url, 2)

    assert [document.id for document in (*first, *rest)] == ["a", "b", "c"]


async def test_only_one_has_the_work_on_vectors(pair: tuple[Library, Library]) -> None:
    one, other = pair

    assert await one.vectors.hold("one", until=10.0, now=1.0)
    assert not await other.vectors.hold("other", until=10.0, now=9.0)
    assert await one.vectors.hold("one", until=20.0, now=9.0)
    assert await other.vectors.hold("other", until=30.0, now=20.5)
    assert not await one.vectors.hold("one", until=40.0, now=21.0)


async def test_what_one_server_keeps_the_other_finds(pair: tuple[Library, Library]) -> None:
    one, other = pair
    await one.documents.keep([entry("a", "one")])
    [key] = await keys(other, "one")
    await other.vectors.place(MODEL, {key: vector(1, 0, 0)})
    assert await by_meaning(one, vector(1, 0, 0)) == ["a"]

    await other.documents.keep([entry("b", "two")])
    [key] = await keys(one, "two")
    await one.vectors.place(MODEL, {key: vector(1, 0, 0)})

    assert set(await by_meaning(other, vector(1, 0, 0))) == {"a", "b"}
    assert set(await by_meaning(one, vector(1, 0, 0))) == {"a", "b"}


async def test_servers_may_keep_the_same_document_at_once(pair: tuple[Library, Library]) -> None:
    def version(number: int) -> Entry:
        return entry("a", "always the same", f"number {number}", digest=str(number))

    async with asyncio.TaskGroup() as group:
        for number in range(12):
            group.create_task(pair[number % 2].documents.keep([version(number)]))

    found = await pair[0].documents.find(ME, "a")
    assert found
    assert await pair[0].documents.text(ME, "a", 17, 99) == f"number {found.digest}"
    assert len(await keys(pair[0], "always")) == 1
    assert len(await keys(pair[0], "number")) == 1


async def test_servers_may_keep_many_documents_at_once_in_any_order(
    pair: tuple[Library, Library],
) -> None:
    entries = [entry(f"d{number:02}", f"word{number}", "again") for number in range(40)]

    async with asyncio.TaskGroup() as group:
        for turn in range(8):
            some = entries if turn % 2 else entries[::-1]
            group.create_task(pair[turn % 2].documents.keep(some))
            group.create_task(pair[turn % 2].documents.forget(ME, [e.document.id for e in some]))
            known = [Known(e.document.id, "d", 1, 1.0, 1.0) for e in some]
            group.create_task(pair[turn % 2].documents.confirm(ME, known))
    await pair[0].documents.keep(entries)

    assert len(await keys(pair[1], "again")) == 10
    [stock] = await pair[1].documents.stock(ME)
    assert (stock.documents, stock.passages) == (40, 80)


async def test_servers_may_place_vectors_of_what_others_change(
    pair: tuple[Library, Library],
) -> None:
    def version(number: int) -> Entry:
        return entry("a", *(f"word{number * place}" for place in range(20)))

    async def placed() -> None:
        waiting = await pair[1].vectors.unplaced(MODEL, 0, 100)
        await pair[1].vectors.place(MODEL, {each.key: vector(1, 0, 0) for each in waiting})

    await placed()
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(pair[0].documents.keep([version(number)]))
            group.create_task(placed())
    await placed()

    assert await pair[0].vectors.left(MODEL) == 0


def said(*texts: str) -> tuple[Said, ...]:
    return tuple(
        Said(position=number, message=Message.user(text), at=50.0 + number)
        for number, text in enumerate(texts)
    )


def conversation(id_: str = "c1", owner: str = ME) -> Conversation:
    return Conversation(id=id_, owner=owner, model="m", title="Talk", created=1.0, updated=1.0)


@pytest.mark.feature("F156", "F243")
async def test_what_was_said_is_read_once_and_found(library: Library) -> None:
    await library.conversations.keep(conversation(), said("about elephants", "and giraffes"))

    spoken = await library.documents.unread(10)
    await library.documents.keep([message_entry(each) for each in spoken])

    assert [(each.owner, each.conversation, each.position) for each in spoken] == [
        (ME, "c1", 1),
        (ME, "c1", 0),
    ]
    assert [(each.role, each.at, each.text) for each in spoken[1:]] == [
        ("user", 50.0, "about elephants")
    ]
    assert await library.documents.unread(10) == ()
    [key] = await keys(library, "giraffe")
    passage = (await library.search.passages([key]))[key]
    assert (passage.conversation, passage.position, passage.role) == ("c1", 1, "user")
    assert (passage.document.title, passage.document.modified) == ("Talk", 51.0)
    assert await by_words(library, "giraffe", Scope(owner=YOU)) == []
    found = await library.documents.find(ME, "c1.1")
    assert found
    assert found.title == "Talk"


async def test_a_conversation_that_is_deleted_is_not_found(library: Library) -> None:
    await library.conversations.keep(conversation(), said("about elephants"))
    branch = conversation().branch("c2", 2.0, length=1)
    await library.conversations.keep(branch, ())
    await library.conversations.keep(conversation("c3"), said("elephants again"))
    await library.documents.keep(
        [message_entry(each) for each in await library.documents.unread(9)]
    )
    await library.vectors.place(
        MODEL, dict.fromkeys(await keys(library, "elephant"), vector(1, 0, 0))
    )

    await library.conversations.delete(ME, "c1")  # c2 still shares its messages
    await library.conversations.delete(ME, "c3")

    assert await by_words(library, "elephant") == []
    assert await by_meaning(library, vector(1, 0, 0)) == []
    assert await library.documents.find(ME, "c1.0") is None
    await library.conversations.delete(ME, "c2")
    assert await library.vectors.left(MODEL) == 0  # nothing of it is left


async def test_a_message_that_is_gone_before_it_is_read_is_not_kept(library: Library) -> None:
    await library.conversations.keep(conversation(), said("about elephants"))
    spoken = await library.documents.unread(10)
    await library.conversations.delete(ME, "c1")

    await library.documents.keep([message_entry(each) for each in spoken])

    assert await by_words(library, "elephant") == []


async def test_servers_may_read_the_same_messages_while_they_are_deleted(
    pair: tuple[Library, Library],
) -> None:
    talks = [conversation(f"c{number}") for number in range(10)]
    for talk in talks:
        await pair[0].conversations.keep(talk, said("about elephants", "and giraffes"))
    spoken = await pair[0].documents.unread(50)

    async with asyncio.TaskGroup() as group:
        for library, some in zip(pair, (spoken, spoken[::-1]), strict=True):
            group.create_task(library.documents.keep([message_entry(each) for each in some]))
        for talk in talks[:5]:
            group.create_task(pair[1].conversations.delete(ME, talk.id))
    rest = await pair[1].documents.unread(50)
    await pair[1].documents.keep([message_entry(each) for each in rest])

    assert await pair[0].documents.unread(50) == ()
    found = await pair[0].search.passages(await keys(pair[0], "giraffe"))
    conversations = {passage.conversation for passage in found.values()}
    assert conversations == {talk.id for talk in talks[5:]}
