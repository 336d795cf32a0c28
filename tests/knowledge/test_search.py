import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.domain.conversations import Conversation, Said
from junto.domain.documents import Match, Scope, Source
from junto.domain.errors import InvalidInputError, NotFoundError
from junto.domain.messages import Message
from junto.knowledge.checks import tells
from junto.knowledge.library import PAGE, Library
from junto.knowledge.ranking import joined
from junto.knowledge.service import Standards
from junto.knowledge.wishes import wish
from junto.settings.choices import Trust
from junto.storage.words import phrases, snippet
from tests.knowledge.support import Bag, Room, room
from tests.storage.libraries import ME, YOU, entry

MINE = Scope(owner=ME)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Room]:
    async with room(tmp_path) as made:
        yield made


@pytest.fixture
async def seeing(tmp_path: Path) -> AsyncIterator[Room]:
    """Return a room that also knows what words mean, more or less."""
    async with room(tmp_path, Bag()) as made:
        yield made


ORDERS = st.lists(st.lists(st.integers(1, 30), unique=True, max_size=20), min_size=1, max_size=3)


@given(ORDERS)
def test_what_is_first_everywhere_is_first_and_scores_are_shares_of_it(
    orders: list[list[int]],
) -> None:
    ranked = joined([[Match(key, key // 3, 0.0) for key in order] for order in orders])

    scores = [each.score for each in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1.0000001 for score in scores)
    assert {each.document for each in ranked} == {key // 3 for order in orders for key in order}
    present = [order for order in orders if order]
    if present and len({order[0] // 3 for order in present}) == 1:
        assert ranked[0].document == present[0][0] // 3
        assert scores[0] == pytest.approx(1.0)
    for each in ranked:
        assert each.passage // 3 == each.document


def test_two_measures_beat_one() -> None:
    words = [Match(1, 1, 0.0), Match(2, 2, 0.0), Match(3, 3, 0.0)]
    meaning = [Match(4, 4, 0.0), Match(21, 2, 0.0), Match(2, 2, 0.0)]

    ranked = joined([words, meaning])

    assert [each.document for each in ranked] == [2, 1, 4, 3]
    assert ranked[0].passage == 2  # it is in both


def test_filters_stand_among_the_words() -> None:
    found = wish('how path:"my docs/x" retries type:PDF after:2026-01-31 work', MINE)

    assert found.text == "how retries work"
    assert found.scope == replace(MINE, kinds=("pdf",), path="my%20docs/x", after=1769817600.0)
    assert wish("source:notes x", MINE).scope.sources == (Source.NOTES,)
    assert wish("TypeError: path: is none, see http://x", MINE).text.startswith("TypeError: path:")


@pytest.mark.parametrize("query", ["x" * 20_001, "type:a " * 21])
def test_a_query_has_bounds(query: str) -> None:
    with pytest.raises(InvalidInputError, match="at most"):
        wish(query, MINE)


@pytest.mark.parametrize("query", ["source:nowhere x", "after:yesterday x", "before:2026-13-01"])
def test_a_filter_that_makes_no_sense_says_what_it_takes(query: str) -> None:
    with pytest.raises(InvalidInputError, match="it takes"):
        wish(query, MINE)


def test_a_filter_cannot_widen_a_scope() -> None:
    with pytest.raises(InvalidInputError):
        wish("source:conversations x", replace(MINE, sources=(Source.DOCUMENTS,)))


@pytest.mark.parametrize("query", ["", "   ", "type:pdf"])
async def test_a_search_needs_words(here: Room, query: str) -> None:
    with pytest.raises(InvalidInputError, match="words"):
        await here.search.find(ME, query, 5)


@pytest.mark.feature("F051")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A sentence.", True),
        ("\u4e00" * 500, True),
        ("=== --- *** ((( ))) [[[ ]]] {{{ }}} ;;; ::: !!!", False),
        ("QmFzZTY0" * 100, False),
        ("x", True),
        ("\u2026 \u2014", False),
    ],
)
def test_a_passage_that_says_nothing_is_known(text: str, *, says: bool) -> None:
    assert tells(text) is says


def test_a_snippet_shows_where_most_words_are() -> None:
    text = (
        "retry " + "filler " * 200 + "the limits of retries are set by the budget " + "more " * 99
    )

    shown = snippet(text, phrases("retry limit budget"))

    assert "limits of retries are set by the budget" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 242


@given(st.text(max_size=300), st.text(max_size=30))
def test_any_text_has_a_snippet(text: str, query: str) -> None:
    assert len(snippet(text, phrases(query), 50)) <= 52


async def test_a_document_is_shown_once_with_its_best_passage(here: Room) -> None:
    await here.stores.documents.keep(
        [entry("a", "elephants", "elephants and giraffes", "giraffes"), entry("b", "giraffes here")]
    )

    hits = (await here.search.find(ME, "elephants giraffes", 5)).hits

    assert [hit.document.id for hit in hits] == ["a", "b"]
    assert hits[0].passage.text == "elephants and giraffes"
    assert hits[0].score == 1.0


async def test_what_is_nearly_the_same_is_shown_once(here: Room) -> None:
    text = "The quick brown fox jumps over the lazy dog near the river bank every single day"
    await here.stores.documents.keep(
        [entry("a", text), entry("b", f"{text} again"), entry("c", "A fox of another kind")]
    )

    hits = (await here.search.find(ME, "fox", 5)).hits

    assert len(hits) == 2
    assert "c" in {hit.document.id for hit in hits}


@pytest.mark.feature("F050")
async def test_trust_moves_results_and_hides_them(tmp_path: Path) -> None:
    trust = {
        "https://good/*": Trust.HIGH,
        "https://bad/*": Trust.NONE,
        "https://*": Trust.LOW,
    }
    async with room(tmp_path, standards=Standards(trust=trust)) as here:
        await here.stores.documents.keep(
            [
                entry("low", "elephant elephant", url="https://other/1"),
                entry("none", "elephant elephant elephant", url="https://bad/1"),
                entry(
                    "high", "an elephant, somewhere among quite a few words", url="https://good/1"
                ),
                entry("normal", "an elephant, somewhere among words", url="file:///x"),
            ]
        )

        hits = (await here.search.find(ME, "elephant", 5)).hits

    assert hits[0].document.id == "high"
    assert {hit.document.id: hit.trust for hit in hits} == {
        "high": Trust.HIGH,
        "normal": Trust.NORMAL,
        "low": Trust.LOW,
    }
    assert hits[-1].document.id == "low"


async def test_what_is_not_trusted_does_not_crowd_out_what_is(tmp_path: Path) -> None:
    async with room(tmp_path, standards=Standards(trust={"https://bad/*": Trust.NONE})) as here:
        bad = [entry(f"b{n}", f"elephant elephant{n}", url=f"https://bad/{n}") for n in range(40)]
        good = [entry(f"g{n}", f"an elephant among words number{n}") for n in range(5)]
        await here.stores.documents.keep([*bad, *good])

        hits = (await here.search.find(ME, "elephant", 3)).hits

    assert len(hits) == 3
    assert all(hit.document.id.startswith("g") for hit in hits)


@pytest.mark.feature("F049")
async def test_a_threshold_keeps_weak_results_away(tmp_path: Path) -> None:
    async with room(tmp_path, standards=Standards(threshold=0.95)) as here:
        await here.stores.documents.keep(
            [entry("a", "elephant elephant"), entry("b", "an elephant among other words here")]
        )

        hits = (await here.search.find(ME, "elephant", 5)).hits

    assert [hit.document.id for hit in hits] == ["a"]


@pytest.mark.parametrize(
    ("query", "explained"),
    [("unheard", "these words"), ("elephant type:pdf", "filters")],
)
async def test_an_empty_result_says_why(here: Room, query: str, explained: str) -> None:
    await here.stores.documents.keep([entry("a", "elephant")])

    found = await here.search.find(ME, query, 5)

    assert found.hits == ()
    assert explained in (found.note or "")


async def test_meaning_finds_what_words_do_not(seeing: Room) -> None:
    await seeing.stores.documents.keep([entry("a", "tall animals"), entry("b", "round stones")])
    await seeing.placing().finish()

    found = await seeing.search.find(ME, "tall", 5)

    assert [hit.document.id for hit in found.hits] == ["a"]  # b is not near enough


async def test_words_find_at_once_what_has_no_vector_yet(seeing: Room) -> None:
    await seeing.stores.documents.keep([entry("a", "tall animals")])

    assert await seeing.found("animals") == ["a"]


@pytest.mark.parametrize("where", ["model", "embed"])
async def test_without_vectors_words_are_searched_and_that_is_told(
    tmp_path: Path, where: str
) -> None:
    async with room(tmp_path, Bag(failing=where)) as here:
        await here.stores.documents.keep([entry("a", "tall animals")])

        found = await here.search.find(ME, "animals", 5)

    assert [hit.document.id for hit in found.hits] == ["a"]
    assert found.note == "Searched by words alone. Install it."


async def test_every_passage_gets_its_vector_and_another_model_makes_new_ones(
    tmp_path: Path,
) -> None:
    bag = Bag()
    async with room(tmp_path, bag) as here:
        await here.stores.documents.keep(
            [entry(f"d{number}", "one", "two") for number in range(50)]
        )
        left: list[int] = []

        assert await here.placing().finish(left.append) == 100
        assert left[0] == 100
        assert left == sorted(left, reverse=True)
        assert max(bag.asked) <= 32
        assert await here.placing().finish() == 0
    other = Bag("other")
    async with room(tmp_path, other) as here:
        assert await here.placing().finish() == 100
        assert await here.found("one")


async def test_two_processes_share_the_work_on_vectors(tmp_path: Path) -> None:
    first, second = Bag(), Bag()
    async with room(tmp_path, first) as one, room(tmp_path, second) as other:
        await one.stores.documents.keep([entry(f"d{n}", "one", "two") for n in range(40)])

        async with asyncio.TaskGroup() as group:
            group.create_task(one.placing().finish())
            group.create_task(other.placing().finish())

    assert sum(first.asked) + sum(second.asked) == 80


async def test_a_note_is_found_and_replaced_by_its_title(here: Room) -> None:
    first = await here.library.add(ME, "The code is in the blue box.", "Codes")
    second = await here.library.add(ME, "The code is in the red box.", "Codes")
    other = await here.library.add(ME, "# Bicycle\n\nIt is in the cellar.")

    assert first.id == second.id != other.id
    [hit] = (await here.search.find(ME, "code box", 5)).hits
    assert (hit.document.source, hit.snippet) == (Source.NOTES, "The code is in the red box.")
    assert (other.title, other.url) == ("Bicycle", f"junto://document/{other.id}")
    assert await here.found("bicycle", YOU) == []
    with pytest.raises(InvalidInputError):
        await here.library.add(ME, "  ")
    with pytest.raises(InvalidInputError, match="1,000,000"):
        await here.library.add(ME, "x" * 1_000_001)


async def test_what_was_said_is_found_at_once(here: Room) -> None:
    talk = Conversation(id="c1", owner=ME, model="m", title="Animals", created=1.0, updated=1.0)
    said = (
        Said(position=0, message=Message.user("Which animal is tallest?"), at=5.0),
        Said(position=1, message=Message.assistant("The giraffe."), at=6.0),
    )
    await here.stores.conversations.keep(talk, said)

    [hit] = (await here.search.find(ME, "giraffe", 5, (Source.CONVERSATIONS,))).hits

    assert (hit.passage.conversation, hit.passage.position, hit.passage.role) == (
        "c1", 1, "assistant",
    )  # fmt: skip
    assert (hit.document.title, hit.document.url) == ("Animals", "conversation://c1#1")
    assert (await here.search.find(YOU, "giraffe", 5)).hits == ()
    await here.stores.conversations.delete(ME, "c1")
    assert (await here.search.find(ME, "giraffe", 5)).hits == ()


def started_again(here: Room) -> Library:
    """Return the library of another process, which has not looked at the manual yet."""
    return Library(here.stores.documents, asyncio.Event())


@pytest.mark.feature("F158")
async def test_the_manual_is_read_when_it_is_asked_and_only_if_it_has_changed(here: Room) -> None:
    found = await here.search.find(ME, "how to limit retries", 3, (Source.SYSTEM,))
    before = await here.dump("anybody")
    await started_again(here).freshen((Source.SYSTEM,))

    assert len(found.hits) == 3
    assert all(hit.document.title.startswith("Junto: ") for hit in found.hits)
    assert await here.dump("anybody") == before != []
    page = next(document for document in before if "settings" in str(document[2]).lower())
    stored = await here.stores.documents.find(ME, str(page[0]))
    assert stored
    await here.stores.documents.keep(
        [replace(entry(stored.id, "old"), document=replace(stored, digest="old", length=3))]
    )
    await started_again(here).freshen((Source.SYSTEM,))
    assert await here.dump("anybody") == before


async def test_the_manual_has_the_pages_of_its_folders_too(here: Room) -> None:
    found = await here.search.find(ME, "codex startup_timeout_sec", 1, (Source.SYSTEM,))

    assert [hit.document.title for hit in found.hits] == ["Junto: Codex"]


async def test_a_long_document_is_read_page_by_page(here: Room) -> None:
    text = "".join(f"{number:05}," for number in range(PAGE // 6 * 2 + 1000))
    await here.stores.documents.keep([entry("a" * 32, text)])

    pages = []
    wanted: str | None = "a" * 32
    while wanted:
        page = await here.library.page(ME, wanted)
        pages.append(page.text)
        wanted = page.next

    assert "".join(pages) == text
    assert len(pages) == 3
    for id_ in ("document://" + "a" * 32, f"junto://document/{'a' * 32}:2", f"{'a' * 32}:2"):
        assert (await here.library.page(ME, id_)).text in pages
    for missing in (f"{'a' * 32}:4", "nobody", "", ":2", f"{'a' * 32}:0"):
        with pytest.raises(NotFoundError):
            await here.library.page(ME, missing)
    with pytest.raises(NotFoundError):
        await here.library.page(YOU, "a" * 32)


async def test_searching_and_writing_go_side_by_side(seeing: Room) -> None:
    async def write(number: int) -> None:
        await seeing.stores.documents.keep([entry(f"d{number}", f"elephant number{number}")])

    async def read() -> None:
        await seeing.search.find(ME, "elephant", 5)

    async with asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(write(number))
            group.create_task(read())
        group.create_task(seeing.placing().finish())
    await seeing.placing().finish()

    assert len(await seeing.found("elephant")) == 10
