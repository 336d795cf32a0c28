"""Contract tests for every document store: SQLite file, in-memory SQLite, PostgreSQL."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from junto.domain.conversations import Conversation, StoredMessage
from junto.domain.documents import (
    PUBLIC_OWNER,
    DocumentEntry,
    EmbeddingModel,
    IndexedState,
    Match,
    SearchScope,
    Source,
)
from junto.domain.messages import Message
from junto.text.tokenizer import extract_phrases
from tests.storage.document_stores import (
    LATER,
    ME,
    MODEL,
    YOU,
    DocumentStores,
    build_entry,
    build_message_entry,
    build_vector,
    open_postgres_stores,
    open_sqlite_stores,
)

MINE = SearchScope(owner=ME)


@pytest.fixture(params=["file", "memory", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DocumentStores]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            yield open_postgres_stores(request.getfixturevalue("postgres_url"), stack)
        else:
            path = tmp_path / "junto.db" if request.param == "file" else None
            yield open_sqlite_stores(path, tmp_path, stack)


@pytest.fixture(params=["file", "postgres"])
async def pair(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[DocumentStores, DocumentStores]]:
    """Open the same database twice, as two servers do."""
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield open_postgres_stores(url, stack), open_postgres_stores(url, stack)
        else:
            path = tmp_path / "junto.db"
            yield (
                open_sqlite_stores(path, tmp_path, stack),
                open_sqlite_stores(path, tmp_path, stack),
            )


async def load_ids_and_texts(
    stores: DocumentStores, matches: tuple[Match, ...]
) -> list[tuple[str, str]]:
    found = await stores.search.load_passages([match.key for match in matches])
    passages = [found[match.key] for match in matches if match.key in found]
    return [(passage.document.id, passage.text) for passage in passages]


async def find_by_words(stores: DocumentStores, query: str, scope: SearchScope = MINE) -> list[str]:
    found = await stores.search.search_keywords(scope, extract_phrases(query), 10)
    return [id_ for id_, _ in await load_ids_and_texts(stores, found)]


async def find_by_vector(
    stores: DocumentStores,
    query_vector: bytes,
    scope: SearchScope = MINE,
    model: EmbeddingModel = MODEL,
) -> list[str]:
    found = await stores.search.search_vectors(scope, model, query_vector, 10)
    return [id_ for id_, _ in await load_ids_and_texts(stores, found)]


async def find_keys(stores: DocumentStores, query: str, scope: SearchScope = MINE) -> list[int]:
    return [
        match.key
        for match in await stores.search.search_keywords(scope, extract_phrases(query), 10)
    ]


async def test_a_document_is_stored_with_its_text_and_headings(stores: DocumentStores) -> None:
    entry = build_entry("a", "One two.", "Three \U0001f418 four.")
    path = ("Part \u4e00", "Chapter")
    entry = replace(entry, spans=(entry.spans[0], replace(entry.spans[1], headings=path)))

    await stores.documents.save([entry])

    assert await stores.documents.find(ME, "a") == entry.document
    assert await stores.documents.find(ME, "file:///docs/a") == entry.document
    assert await stores.documents.read_text(ME, "a", 0, 100) == "One two.\n\nThree \U0001f418 four."
    assert await stores.documents.read_text(ME, "a", 10, 17) == "Three \U0001f418"
    [match] = await stores.search.search_keywords(MINE, extract_phrases("three"), 5)
    passage = (await stores.search.load_passages([match.key]))[match.key]
    assert (passage.text, passage.headings) == ("Three \U0001f418 four.", path)
    assert (passage.start, passage.end) == (10, 24 - 1)
    assert match.score > 0


async def test_any_part_of_a_long_text_can_be_read(stores: DocumentStores) -> None:
    entry = build_entry("a", *(f"\U0001f418 word{number:05} " * 100 for number in range(80)))
    await stores.documents.save([entry])

    for start in (0, 32_000, 32_768, 65_535, len(entry.text) - 10, len(entry.text) + 10):
        part = await stores.documents.read_text(ME, "a", start, start + 1000)
        assert part == entry.text[start : start + 1000]
    assert await stores.documents.read_text(ME, "a", 5, 10**9) == entry.text[5:]
    found = await stores.search.load_passages(range(1, 81))
    assert {passage.text for passage in found.values()} == {
        entry.text[span.start : span.end] for span in entry.spans
    }
    await stores.documents.save([build_entry("a", "short")])
    assert await stores.documents.read_text(ME, "a", 0, 10**6) == "short"
    await stores.documents.save([build_entry("a")])
    assert await stores.documents.read_text(ME, "a", 0, 10**6) == ""


async def test_characters_that_no_database_accepts_are_replaced(
    stores: DocumentStores,
) -> None:
    text = "before\0after half"
    await stores.documents.save([build_entry("a", text, title="a\0b")])

    found = await stores.documents.read_text(ME, "a", 0, 100)

    assert found == "before after half"
    assert await find_by_words(stores, "before") == ["a"]


@pytest.mark.feature("F243")
async def test_passages_are_found_by_their_words(stores: DocumentStores) -> None:
    await stores.documents.save(
        [
            build_entry("a", "The quick brown fox jumps over the lazy dog"),
            build_entry("b", "Foxes were running through the forest"),
            build_entry("c", "Nothing of interest here", title="Zebra crossings"),
            build_entry("d", "\u4eca\u5929\u5929\u6c14\u5f88\u597d, we said"),
        ]
    )

    assert set(await find_by_words(stores, "fox")) == {"a", "b"}  # in singular and plural
    assert (await find_by_words(stores, "brown fox"))[0] == "a"  # more matching words rank higher
    assert set(await find_by_words(stores, "brown interest")) == {"a", "c"}
    assert await find_by_words(stores, "zebra") == ["c"]  # by the title
    assert await find_by_words(stores, "\u5929\u6c14") == ["d"]
    assert await find_by_words(stores, "\u6c14\u5929") == []
    assert await find_by_words(stores, '" OR NEAR( * ^') == []
    assert await find_by_words(stores, "unheard") == []
    assert await stores.search.search_keywords(MINE, (), 5) == ()


async def test_words_are_found_inside_paths_urls_and_identifiers_in_any_case(
    stores: DocumentStores,
) -> None:
    await stores.documents.save(
        [
            build_entry("path", "See src/junto/cellar.py for more"),
            build_entry("address", "It is at https://example.org/wardrobe?key=value#part"),
            build_entry("mail", "Write to umbrella@example.org"),
            build_entry("hyphen", "A well-furnished room"),
            build_entry("name", "call most_curtains(x)"),
            build_entry("accent", "Das CAF\u00c9 und die \u00c4hre"),
            build_entry("common", "before and after"),
        ]
    )

    assert await find_by_words(stores, "cellar") == ["path"]
    assert await find_by_words(stores, "junto/cellar.py") == ["path"]
    assert await find_by_words(stores, "wardrobe") == ["address"]
    assert await find_by_words(stores, "umbrella") == ["mail"]
    assert await find_by_words(stores, "furnished") == ["hyphen"]
    assert await find_by_words(stores, "curtains") == ["name"]
    assert await find_by_words(stores, "most_curtains") == ["name"]
    assert await find_by_words(stores, "caf\u00e9") == ["accent"]
    assert await find_by_words(stores, "\u00e4hre") == ["accent"]
    assert await find_by_words(stores, "before") == ["common"]


async def test_a_rare_word_ranks_higher_than_a_common_one(stores: DocumentStores) -> None:
    many = [build_entry(f"n{number}", "pressure of the flow") for number in range(60)]
    await stores.documents.save([*many, build_entry("x", "a long text on pressure and a zeppelin")])

    assert (await find_by_words(stores, "flow pressure zeppelin"))[0] == "x"


@pytest.mark.parametrize("backend", ["file", "postgres"])
@pytest.mark.parametrize("words", ["needle", "needle common"])
async def test_words_with_more_matches_than_can_be_ranked_are_found(
    backend: str, words: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with AsyncExitStack() as stack:
        stores = (
            open_postgres_stores(request.getfixturevalue("postgres_url"), stack, max_ranked=5)
            if backend == "postgres"
            else open_sqlite_stores(tmp_path / "junto.db", tmp_path, stack, max_ranked=5)
        )
        await stores.documents.save([build_entry(f"m{n}", "needle common") for n in range(20)])
        await stores.documents.save([build_entry(f"y{n}", "needle", owner=YOU) for n in range(20)])

        found = await find_by_words(stores, words)

        assert len(found) >= 5
        assert all(id_.startswith("m") for id_ in found)
        narrow = replace(MINE, kinds=("pdf",))
        await stores.documents.save([build_entry("x", "needle common", kind="pdf")])
        await stores.documents.save([build_entry(f"n{n}", "needle common") for n in range(20)])
        assert await find_by_words(stores, words, narrow) == ["x"]


async def test_documents_of_other_owners_are_not_found(stores: DocumentStores) -> None:
    await stores.documents.save(
        [
            build_entry("mine", "a secret elephant"),
            build_entry("yours", "a secret elephant", owner=YOU),
            build_entry("all", "an open elephant", owner=PUBLIC_OWNER),
        ]
    )
    found = [
        key
        for owner in (ME, YOU)
        for key in await find_keys(stores, "elephant", SearchScope(owner=owner))
    ]
    await stores.vectors.save_vectors(MODEL, dict.fromkeys(found, build_vector(1, 0, 0)))

    for owner, own_id in ((ME, "mine"), (YOU, "yours"), ("nobody", None)):
        expected = {own_id, "all"} - {None}
        scope = SearchScope(owner=owner)
        assert set(await find_by_words(stores, "elephant", scope)) == expected
        assert set(await find_by_vector(stores, build_vector(1, 0, 0), scope)) == expected
        listed = await stores.documents.list_documents(scope, "", 10)
        assert {document.id for document in listed} == expected
    assert await stores.documents.find(YOU, "mine") is None
    assert await stores.documents.find(YOU, "file:///docs/mine") is None
    assert await stores.documents.read_text(YOU, "mine", 0, 10) == ""
    assert await stores.documents.delete(YOU, ["mine"]) == 0
    assert await stores.documents.load_indexed_states(YOU, "file:///docs") != {}
    assert "file:///docs/mine" not in await stores.documents.load_indexed_states(
        YOU, "file:///docs"
    )


async def test_two_owners_can_use_the_same_id(stores: DocumentStores) -> None:
    await stores.documents.save(
        [build_entry("x", "my words"), build_entry("x", "your words", owner=YOU)]
    )

    assert await stores.documents.read_text(ME, "x", 0, 99) == "my words"
    assert await stores.documents.read_text(YOU, "x", 0, 99) == "your words"


async def test_a_scope_narrows_the_results(stores: DocumentStores) -> None:
    await stores.documents.save(
        [
            build_entry("a", "elephant", kind="pdf", modified=10.0, url="file:///Docs/x%20y/a.pdf"),
            build_entry("b", "elephant", kind="markdown", modified=20.0, source=Source.NOTES),
            build_entry(
                "c",
                "elephant",
                kind="code",
                modified=30.0,
                owner=PUBLIC_OWNER,
                source=Source.SYSTEM,
            ),
        ]
    )
    found = await find_keys(stores, "elephant")
    await stores.vectors.save_vectors(MODEL, dict.fromkeys(found, build_vector(1, 0, 0)))

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
        assert set(await find_by_words(stores, "elephant", scope)) == expected
        assert set(await find_by_vector(stores, build_vector(1, 0, 0), scope)) == expected
        listed = await stores.documents.list_documents(scope, "", 10)
        assert {document.id for document in listed} == expected


async def test_the_only_document_in_scope_is_found_among_many_others(
    stores: DocumentStores,
) -> None:
    await stores.documents.save([build_entry(f"n{n:03}", "elephant") for n in range(500)])
    await stores.documents.save([build_entry("x", "an elephant among many", kind="pdf")])
    all_keys = {
        match.key for match in await stores.search.search_keywords(MINE, ("elephant",), 1000)
    }
    [own_key] = [match.key for match in await stores.search.search_keywords(MINE, ("many",), 2)]
    vectors = dict.fromkeys(all_keys, build_vector(1, 0.1, 0)) | {own_key: build_vector(0, 0, 1)}
    await stores.vectors.save_vectors(MODEL, vectors)
    scope = replace(MINE, kinds=("pdf",))

    assert len(all_keys) == 501
    assert await find_by_words(stores, "elephant", scope) == ["x"]
    assert await find_by_vector(stores, build_vector(1, 0, 0), scope) == ["x"]


async def test_the_nearest_vectors_come_first_with_their_cosine_similarity(
    stores: DocumentStores,
) -> None:
    vectors = {"a": (1.0, 0.0, 0.0), "b": (0.6, 0.8, 0.0), "c": (-1.0, 0.0, 0.0)}
    await stores.documents.save([build_entry(id_, f"word {id_}{id_}") for id_ in vectors])
    for id_, numbers in vectors.items():
        [key] = await find_keys(stores, id_ * 2)
        await stores.vectors.save_vectors(MODEL, {key: build_vector(*numbers)})

    found = await stores.search.search_vectors(MINE, MODEL, build_vector(1, 0, 0), 10)

    assert [id_ for id_, _ in await load_ids_and_texts(stores, found)] == ["a", "b", "c"]
    assert [round(match.score, 2) for match in found] == [1.0, 0.6, -1.0]
    assert len(await stores.search.search_vectors(MINE, MODEL, build_vector(1, 0, 0), 2)) == 2
    assert (
        await stores.search.search_vectors(
            MINE, EmbeddingModel("other", 3), build_vector(1, 0, 0), 9
        )
        == ()
    )


async def test_passages_without_a_vector_are_pending(stores: DocumentStores) -> None:
    await stores.documents.save([build_entry("a", "one", "two", "three", title="T")])

    first = await stores.vectors.list_pending(MODEL, 0, 2)
    rest = await stores.vectors.list_pending(MODEL, first[-1].key, 5)

    assert [each.text for each in (*first, *rest)] == ["T\none", "T\ntwo", "T\nthree"]
    assert await stores.vectors.count_pending(MODEL) == 3
    await stores.vectors.save_vectors(
        MODEL, {first[0].key: build_vector(1, 0, 0), 10**9: build_vector(1, 0, 0)}
    )
    # Saving a vector twice is allowed.
    await stores.vectors.save_vectors(MODEL, {first[0].key: build_vector(0, 1, 0)})
    assert await stores.vectors.count_pending(MODEL) == 2
    assert await stores.vectors.list_pending(MODEL, 0, 9) == (first[1], *rest)


async def test_each_model_has_its_own_vectors(stores: DocumentStores) -> None:
    other = EmbeddingModel("other", 2)
    await stores.documents.save([build_entry("a", "one"), build_entry("b", "two")])
    [one] = await find_keys(stores, "one")
    [two] = await find_keys(stores, "two")
    await stores.vectors.save_vectors(
        MODEL, {one: build_vector(1, 0, 0), two: build_vector(0, 1, 0)}
    )
    await stores.vectors.save_vectors(other, {one: build_vector(1, 0)})

    assert await stores.vectors.count_pending(other) == 1
    assert await find_by_vector(stores, build_vector(1, 0), model=other) == ["a"]
    await stores.vectors.save_vectors(other, {two: build_vector(0, 1)})
    await stores.vectors.optimize(other, LATER)
    assert await find_by_vector(stores, build_vector(0, 1), model=other) == ["b", "a"]
    assert await find_by_vector(stores, build_vector(1, 0, 0)) == []
    assert await stores.vectors.count_pending(MODEL) == 2


async def test_vectors_of_a_recently_used_model_are_not_dropped(
    stores: DocumentStores,
) -> None:
    other, now = EmbeddingModel("other", 2), time.time()
    await stores.documents.save([build_entry("a", "one")])
    [one] = await find_keys(stores, "one")
    await stores.vectors.save_vectors(MODEL, {one: build_vector(1, 0, 0)})
    await stores.vectors.save_vectors(other, {one: build_vector(1, 0)})

    await stores.vectors.optimize(other, now - 60)
    assert await stores.vectors.count_pending(MODEL) == 0  # saved recently
    await stores.vectors.touch_model(MODEL, now + 1000)
    await stores.vectors.optimize(other, now + 900)
    assert await stores.vectors.count_pending(MODEL) == 0
    await stores.vectors.optimize(other, now + 1001)
    assert await stores.vectors.count_pending(MODEL) == 1
    assert await stores.vectors.count_pending(other) == 0


async def test_a_changed_document_keeps_the_vectors_of_unchanged_passages(
    stores: DocumentStores,
) -> None:
    await stores.documents.save([build_entry("a", "first", "second", "third")])
    before = {each.text: each.key for each in await stores.vectors.list_pending(MODEL, 0, 9)}
    await stores.vectors.save_vectors(MODEL, dict.fromkeys(before.values(), build_vector(1, 0, 0)))

    await stores.documents.save(
        [build_entry("a", "zeroth", "second", "third, changed", digest="e")]
    )

    [new, changed] = await stores.vectors.list_pending(MODEL, 0, 9)
    assert {new.text, changed.text} == {"a\nzeroth", "a\nthird, changed"}
    assert await find_keys(stores, "second") == [before["a\nsecond"]]
    assert await find_by_words(stores, "first") == []
    found = await stores.search.load_passages([before["a\nsecond"], before["a\nfirst"]])
    assert [passage.text for passage in found.values()] == ["second"]  # at its new position
    assert len(await find_by_vector(stores, build_vector(1, 0, 0))) == 1
    found_document = await stores.documents.find(ME, "a")
    assert found_document
    assert found_document.digest == "e"


async def test_a_deleted_document_is_no_longer_found(stores: DocumentStores) -> None:
    await stores.documents.save([build_entry("a", "one"), build_entry("b", "one")])
    await stores.vectors.save_vectors(
        MODEL, dict.fromkeys(await find_keys(stores, "one"), build_vector(1, 0, 0))
    )
    assert set(await find_by_vector(stores, build_vector(1, 0, 0))) == {"a", "b"}

    assert await stores.documents.delete(ME, ["a", "unknown"]) == 1

    assert await find_by_words(stores, "one") == ["b"]
    assert await find_by_vector(stores, build_vector(1, 0, 0)) == ["b"]
    assert await stores.documents.find(ME, "a") is None
    assert await stores.vectors.count_pending(MODEL) == 0


async def test_indexed_states_and_subfolders_are_listed_by_folder(stores: DocumentStores) -> None:
    def entry_in(folder: str, name: str, owner: str = ME) -> DocumentEntry:
        return build_entry(
            f"{folder}{name}", "x", url=f"{folder}/{name}", folder=folder, owner=owner
        )

    await stores.documents.save(
        [
            entry_in("file:///a", "1"),
            entry_in("file:///a/b", "2"),
            entry_in("file:///a/b", "3"),
            entry_in("file:///a/b/c%25_", "4"),
            entry_in("file:///ab", "5"),
            entry_in("file:///a/you", "6", YOU),
            build_entry("note", "x", folder="", url="junto://document/note"),
        ]
    )

    states = await stores.documents.load_indexed_states(ME, "file:///a/b")

    assert set(states) == {"file:///a/b/2", "file:///a/b/3"}
    assert states["file:///a/b/2"] == IndexedState("file:///a/b2", "d", 10, 100.0, 200.0)
    everything = ("file:///a", "file:///a/b", "file:///a/b/c%25_")
    assert await stores.documents.list_folders(ME, "file:///a", "", 10) == everything
    assert await stores.documents.list_folders(ME, "file:///a", "file:///a", 1) == everything[1:2]
    assert await stores.documents.list_folders(ME, "file:///a/b", "", 10) == everything[1:]
    await stores.documents.update_indexed_states(
        ME, [IndexedState("file:///a/b2", "d", 11, 101.0, 201.0)]
    )
    updated = await stores.documents.load_indexed_states(ME, "file:///a/b")
    assert updated["file:///a/b/2"] == IndexedState("file:///a/b2", "d", 11, 101.0, 201.0)


async def test_urls_may_be_long(stores: DocumentStores) -> None:
    folder = "file:///" + "".join(f"{number * 7919 % 10000}/" for number in range(1500))
    entry = build_entry("a", "one", url=f"{folder}a", folder=folder)

    await stores.documents.save([entry, build_entry("b", "two", url=f"{folder}b", folder=folder)])

    assert await stores.documents.find(ME, f"{folder}a") == entry.document
    assert set(await stores.documents.load_indexed_states(ME, folder)) == {
        f"{folder}a",
        f"{folder}b",
    }
    assert await stores.documents.list_folders(ME, "file://", "", 5) == (folder,)


async def test_the_last_of_two_entries_with_the_same_id_wins(stores: DocumentStores) -> None:
    await stores.documents.save([build_entry("a", "one", "two"), build_entry("a", "two", "three")])

    assert await stores.documents.read_text(ME, "a", 0, 99) == "two\n\nthree"
    assert await find_by_words(stores, "one") == []
    assert len(await find_keys(stores, "two three")) == 2


async def test_index_stats_are_counted_by_source(stores: DocumentStores) -> None:
    await stores.documents.save(
        [
            build_entry("a", "one", "two"),
            build_entry("b", "three"),
            build_entry("n", "four", source=Source.NOTES),
            build_entry("s", "five", source=Source.SYSTEM, owner=PUBLIC_OWNER),
            build_entry("y", "six", owner=YOU),
        ]
    )

    stats = await stores.documents.load_index_stats(ME)

    assert {(each.source, each.documents, each.passages, each.characters) for each in stats} == {
        (Source.DOCUMENTS, 2, 3, 13),
        (Source.NOTES, 1, 1, 4),
        (Source.SYSTEM, 1, 1, 4),
    }


async def test_documents_are_listed_page_by_page(stores: DocumentStores) -> None:
    await stores.documents.save([build_entry(name, "x") for name in ("c", "a", "b")])

    first = await stores.documents.list_documents(MINE, "", 2)
    rest = await stores.documents.list_documents(MINE, first[-1].url, 2)

    assert [document.id for document in (*first, *rest)] == ["a", "b", "c"]


async def test_the_vector_lease_is_exclusive_until_it_expires(
    pair: tuple[DocumentStores, DocumentStores],
) -> None:
    one, other = pair

    assert await one.vectors.acquire_lease("one", until=10.0, now=1.0)
    assert not await other.vectors.acquire_lease("other", until=10.0, now=9.0)
    assert await one.vectors.acquire_lease("one", until=20.0, now=9.0)
    assert await other.vectors.acquire_lease("other", until=30.0, now=20.5)
    assert not await one.vectors.acquire_lease("one", until=40.0, now=21.0)


async def test_documents_saved_by_one_server_are_found_by_the_other(
    pair: tuple[DocumentStores, DocumentStores],
) -> None:
    one, other = pair
    await one.documents.save([build_entry("a", "one")])
    [key] = await find_keys(other, "one")
    await other.vectors.save_vectors(MODEL, {key: build_vector(1, 0, 0)})
    assert await find_by_vector(one, build_vector(1, 0, 0)) == ["a"]

    await other.documents.save([build_entry("b", "two")])
    [key] = await find_keys(one, "two")
    await one.vectors.save_vectors(MODEL, {key: build_vector(1, 0, 0)})

    assert set(await find_by_vector(other, build_vector(1, 0, 0))) == {"a", "b"}
    assert set(await find_by_vector(one, build_vector(1, 0, 0))) == {"a", "b"}


async def test_servers_can_save_the_same_document_concurrently(
    pair: tuple[DocumentStores, DocumentStores],
) -> None:
    def version(number: int) -> DocumentEntry:
        return build_entry("a", "always the same", f"number {number}", digest=str(number))

    async with asyncio.TaskGroup() as group:
        for number in range(12):
            group.create_task(pair[number % 2].documents.save([version(number)]))

    found = await pair[0].documents.find(ME, "a")
    assert found
    assert await pair[0].documents.read_text(ME, "a", 17, 99) == f"number {found.digest}"
    assert len(await find_keys(pair[0], "always")) == 1
    assert len(await find_keys(pair[0], "number")) == 1


async def test_servers_can_save_many_documents_concurrently_in_any_order(
    pair: tuple[DocumentStores, DocumentStores],
) -> None:
    entries = [build_entry(f"d{number:02}", f"word{number}", "again") for number in range(40)]

    async with asyncio.TaskGroup() as group:
        for round_number in range(8):
            batch = entries if round_number % 2 else entries[::-1]
            group.create_task(pair[round_number % 2].documents.save(batch))
            group.create_task(
                pair[round_number % 2].documents.delete(ME, [e.document.id for e in batch])
            )
            states = [IndexedState(e.document.id, "d", 1, 1.0, 1.0) for e in batch]
            group.create_task(pair[round_number % 2].documents.update_indexed_states(ME, states))
    await pair[0].documents.save(entries)

    assert len(await find_keys(pair[1], "again")) == 10
    [stats] = await pair[1].documents.load_index_stats(ME)
    assert (stats.documents, stats.passages) == (40, 80)


async def test_servers_can_save_vectors_while_others_change_the_document(
    pair: tuple[DocumentStores, DocumentStores],
) -> None:
    def version(number: int) -> DocumentEntry:
        return build_entry("a", *(f"word{number * index}" for index in range(20)))

    async def save_pending_vectors() -> None:
        pending = await pair[1].vectors.list_pending(MODEL, 0, 100)
        await pair[1].vectors.save_vectors(
            MODEL, {each.key: build_vector(1, 0, 0) for each in pending}
        )

    await save_pending_vectors()
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(pair[0].documents.save([version(number)]))
            group.create_task(save_pending_vectors())
    await save_pending_vectors()

    assert await pair[0].vectors.count_pending(MODEL) == 0


def user_messages(*texts: str) -> tuple[StoredMessage, ...]:
    return tuple(
        StoredMessage(position=number, message=Message.user(text), at=50.0 + number)
        for number, text in enumerate(texts)
    )


def build_conversation(id_: str = "c1", owner: str = ME) -> Conversation:
    return Conversation(id=id_, owner=owner, model="m", title="Talk", created=1.0, updated=1.0)


@pytest.mark.feature("F156", "F243")
async def test_messages_are_indexed_once_and_found(stores: DocumentStores) -> None:
    await stores.conversations.save_turn(
        build_conversation(), user_messages("about elephants", "and giraffes")
    )

    messages = await stores.documents.list_unindexed_messages(10)
    await stores.documents.save([build_message_entry(each) for each in messages])

    assert [(each.owner, each.conversation, each.position) for each in messages] == [
        (ME, "c1", 1),
        (ME, "c1", 0),
    ]
    assert [(each.role, each.at, each.text) for each in messages[1:]] == [
        ("user", 50.0, "about elephants")
    ]
    assert await stores.documents.list_unindexed_messages(10) == ()
    [key] = await find_keys(stores, "giraffe")
    passage = (await stores.search.load_passages([key]))[key]
    assert (passage.conversation, passage.position, passage.role) == ("c1", 1, "user")
    assert (passage.document.title, passage.document.modified) == ("Talk", 51.0)
    assert await find_by_words(stores, "giraffe", SearchScope(owner=YOU)) == []
    found = await stores.documents.find(ME, "c1.1")
    assert found
    assert found.title == "Talk"


async def test_a_deleted_conversation_is_not_found(stores: DocumentStores) -> None:
    await stores.conversations.save_turn(build_conversation(), user_messages("about elephants"))
    branch = build_conversation().branch("c2", 2.0, length=1)
    await stores.conversations.save_turn(branch, ())
    await stores.conversations.save_turn(build_conversation("c3"), user_messages("elephants again"))
    await stores.documents.save(
        [build_message_entry(each) for each in await stores.documents.list_unindexed_messages(9)]
    )
    await stores.vectors.save_vectors(
        MODEL, dict.fromkeys(await find_keys(stores, "elephant"), build_vector(1, 0, 0))
    )

    await stores.conversations.delete(ME, "c1")  # c2 still shares its messages
    await stores.conversations.delete(ME, "c3")

    assert await find_by_words(stores, "elephant") == []
    assert await find_by_vector(stores, build_vector(1, 0, 0)) == []
    assert await stores.documents.find(ME, "c1.0") is None
    await stores.conversations.delete(ME, "c2")
    assert await stores.vectors.count_pending(MODEL) == 0  # nothing is left of it


async def test_a_message_deleted_before_it_is_indexed_is_not_saved(
    stores: DocumentStores,
) -> None:
    await stores.conversations.save_turn(build_conversation(), user_messages("about elephants"))
    messages = await stores.documents.list_unindexed_messages(10)
    await stores.conversations.delete(ME, "c1")

    await stores.documents.save([build_message_entry(each) for each in messages])

    assert await find_by_words(stores, "elephant") == []


async def test_servers_can_index_the_same_messages_while_they_are_deleted(
    pair: tuple[DocumentStores, DocumentStores],
) -> None:
    conversations = [build_conversation(f"c{number}") for number in range(10)]
    for conversation in conversations:
        await pair[0].conversations.save_turn(
            conversation, user_messages("about elephants", "and giraffes")
        )
    messages = await pair[0].documents.list_unindexed_messages(50)

    async with asyncio.TaskGroup() as group:
        for stores, batch in zip(pair, (messages, messages[::-1]), strict=True):
            group.create_task(stores.documents.save([build_message_entry(each) for each in batch]))
        for conversation in conversations[:5]:
            group.create_task(pair[1].conversations.delete(ME, conversation.id))
    rest = await pair[1].documents.list_unindexed_messages(50)
    await pair[1].documents.save([build_message_entry(each) for each in rest])

    assert await pair[0].documents.list_unindexed_messages(50) == ()
    found = await pair[0].search.load_passages(await find_keys(pair[0], "giraffe"))
    found_ids = {passage.conversation for passage in found.values()}
    assert found_ids == {conversation.id for conversation in conversations[5:]}
