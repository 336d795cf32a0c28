import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.domain.conversations import Conversation, StoredMessage
from junto.domain.documents import Match, SearchScope, Source
from junto.domain.errors import InvalidInputError, NotFoundError
from junto.domain.messages import Message
from junto.knowledge.documents import PAGE_CHARS, DocumentLibrary
from junto.knowledge.query import parse_query
from junto.knowledge.ranking import Candidate, is_mostly_words, merge_matches, score_relevance
from junto.knowledge.search import SearchThresholds
from junto.settings.enums import SourceTrust
from junto.text.tokenizer import extract_phrases, extract_snippet, measure_coverage
from tests.knowledge.knowledge_stores import BagOfWordsEmbedder, KnowledgeStores, room
from tests.storage.document_stores import ME, YOU, build_entry

MY_SCOPE = SearchScope(owner=ME)


@pytest.fixture
async def knowledge(tmp_path: Path) -> AsyncIterator[KnowledgeStores]:
    async with room(tmp_path) as knowledge:
        yield knowledge


@pytest.fixture
async def semantic_knowledge(tmp_path: Path) -> AsyncIterator[KnowledgeStores]:
    """Stores that also search by meaning, with an embedder that only compares words."""
    async with room(tmp_path, BagOfWordsEmbedder()) as knowledge:
        yield knowledge


MATCHES = st.lists(
    st.builds(
        lambda key, score: Match(key, key // 3, score), st.integers(1, 30), st.floats(0.01, 1)
    ),
    unique_by=lambda match: match.key,
    max_size=20,
)


@given(MATCHES, MATCHES)
def test_every_found_document_is_a_candidate_once_with_one_of_its_passages(
    keyword_matches: list[Match], vector_matches: list[Match]
) -> None:
    candidates = merge_matches(keyword_matches, vector_matches, max_matches=20)

    found = {match.document_key for match in (*keyword_matches, *vector_matches)}
    assert sorted(each.document_key for each in candidates) == sorted(found)
    for each in candidates:
        assert each.passage_key // 3 == each.document_key
        assert 0 <= each.keyword_score <= 1
        assert 0 <= score_relevance(each, 0.5) <= 1
    ranks = [each.rank() for each in candidates]
    assert ranks == sorted(ranks, reverse=True)


def test_a_document_found_by_words_and_meaning_beats_the_first_of_each() -> None:
    words = [Match(1, 1, 9.0), Match(2, 2, 8.0), Match(3, 3, 1.0)]
    meaning = [Match(4, 4, 0.6), Match(21, 2, 0.5), Match(2, 2, 0.55)]

    candidates = merge_matches(words, meaning, max_matches=100)

    assert [each.document_key for each in candidates] == [2, 4, 1, 3]
    assert candidates[0].passage_key == 2  # it is in both


def test_a_passage_missing_from_a_full_vector_search_is_no_nearer_than_its_last() -> None:
    words, meaning = [Match(1, 1, 1.0)], [Match(2, 2, 0.6), Match(3, 3, 0.3)]

    def get_similarity(max_matches: int) -> float | None:
        candidates = merge_matches(words, meaning, max_matches)
        return next(each.similarity for each in candidates if each.document_key == 1)

    assert get_similarity(max_matches=2) == 0.3
    assert get_similarity(max_matches=3) is None  # it has no vector yet


@pytest.mark.parametrize(
    ("similarity", "keyword_score", "coverage", "is_relevant"),
    [
        (0.7, 1.0, 0.6, True),  # a typical right answer
        (0.6, 0.0, 0.0, True),  # the meaning without the words
        (0.2, 1.0, 1.0, True),  # all words, such as a name or a number
        (0.33, 1.0, 0.3, False),  # a word in common
        (0.25, 0.0, 0.0, False),  # nonsense
        (None, 1.0, 1.0, True),  # not embedded yet, or words alone
        (None, 1.0, 0.2, False),
    ],
)
def test_off_topic_passages_score_below_a_half(
    similarity: float | None, keyword_score: float, coverage: float, *, is_relevant: bool
) -> None:
    score = score_relevance(Candidate(1, 1, similarity, keyword_score), coverage)

    assert (score >= 0.5) is is_relevant


@pytest.mark.parametrize(
    ("text", "query", "share"),
    [
        ("Retries are limited.", "retry limits", 1),
        ("A party in the garden", "art", 0),
        ("The ÜBER-Test", "uber test zebra", 2 / 3),
        ("\u6211\u559c\u6b22\u73af\u6cd5", "\u559c\u6b22 zebra", 1 / 2),
        ("anything", "", 0),
    ],
)
def test_coverage_is_the_share_of_the_words_that_a_text_has(
    text: str, query: str, share: float
) -> None:
    assert measure_coverage(text, extract_phrases(query)) == pytest.approx(share)


def test_filters_are_parsed_from_the_words_of_a_query() -> None:
    query = parse_query('how path:"my docs/x" retries type:PDF after:2026-01-31 work', MY_SCOPE)

    assert query.text == "how retries work"
    assert query.scope == replace(MY_SCOPE, kinds=("pdf",), path="my%20docs/x", after=1769817600.0)
    assert parse_query("source:notes x", MY_SCOPE).scope.sources == (Source.NOTES,)
    assert parse_query("TypeError: path: is none, see http://x", MY_SCOPE).text.startswith(
        "TypeError: path:"
    )


@pytest.mark.parametrize("query", ["x" * 20_001, "type:a " * 21])
def test_a_query_has_limits(query: str) -> None:
    with pytest.raises(InvalidInputError, match="at most"):
        parse_query(query, MY_SCOPE)


@pytest.mark.parametrize("query", ["source:nowhere x", "after:yesterday x", "before:2026-13-01"])
def test_an_invalid_filter_is_rejected_with_the_values_it_takes(query: str) -> None:
    with pytest.raises(InvalidInputError, match="it takes"):
        parse_query(query, MY_SCOPE)


def test_a_filter_cannot_widen_a_scope() -> None:
    with pytest.raises(InvalidInputError):
        parse_query("source:conversations x", replace(MY_SCOPE, sources=(Source.DOCUMENTS,)))


@pytest.mark.parametrize("query", ["", "   ", "type:pdf"])
async def test_a_search_needs_words(knowledge: KnowledgeStores, query: str) -> None:
    with pytest.raises(InvalidInputError, match="words"):
        await knowledge.search.find(ME, query, 5)


@pytest.mark.feature("F051")
@pytest.mark.parametrize(
    ("text", "has_words"),
    [
        ("A sentence.", True),
        ("\u4e00" * 500, True),
        ("=== --- *** ((( ))) [[[ ]]] {{{ }}} ;;; ::: !!!", False),
        ("QmFzZTY0" * 100, False),
        ("x", True),
        ("\u2026 \u2014", False),
    ],
)
def test_a_passage_without_words_is_detected(text: str, *, has_words: bool) -> None:
    assert is_mostly_words(text) is has_words


def test_a_snippet_shows_where_most_query_words_are() -> None:
    text = (
        "retry " + "filler " * 200 + "the limits of retries are set by the budget " + "more " * 99
    )

    snippet = extract_snippet(text, extract_phrases("retry limit budget"))

    assert "limits of retries are set by the budget" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert len(snippet) <= 242


@given(st.text(max_size=300), st.text(max_size=30))
def test_a_snippet_of_any_text_has_a_maximum_length(text: str, query: str) -> None:
    assert len(extract_snippet(text, extract_phrases(query), 50)) <= 52


async def test_a_document_is_shown_once_with_its_best_passage(knowledge: KnowledgeStores) -> None:
    await knowledge.stores.documents.save(
        [
            build_entry("a", "elephants", "elephants and giraffes", "giraffes"),
            build_entry("b", "giraffes here"),
        ]
    )

    hits = (await knowledge.search.find(ME, "elephants giraffes", 5)).hits

    assert [hit.document.id for hit in hits] == ["a", "b"]
    assert hits[0].passage.text == "elephants and giraffes"
    assert hits[0].score > 0.9


async def test_near_duplicates_are_shown_once(knowledge: KnowledgeStores) -> None:
    text = "The quick brown fox jumps over the lazy dog near the river bank every single day"
    await knowledge.stores.documents.save(
        [
            build_entry("a", text),
            build_entry("b", f"{text} again"),
            build_entry("c", "A fox of another kind"),
        ]
    )

    hits = (await knowledge.search.find(ME, "fox", 5)).hits

    assert len(hits) == 2
    assert "c" in {hit.document.id for hit in hits}


@pytest.mark.feature("F050")
async def test_trust_reorders_and_hides_results(tmp_path: Path) -> None:
    trust = {
        "https://good/*": SourceTrust.HIGH,
        "https://bad/*": SourceTrust.NONE,
        "https://*": SourceTrust.LOW,
    }
    async with room(tmp_path, thresholds=SearchThresholds(trust_patterns=trust)) as knowledge:
        await knowledge.stores.documents.save(
            [
                build_entry("low", "elephant elephant", url="https://other/1"),
                build_entry("none", "elephant elephant elephant", url="https://bad/1"),
                build_entry(
                    "high", "an elephant, somewhere among quite a few words", url="https://good/1"
                ),
                build_entry("normal", "an elephant, somewhere among words", url="file:///x"),
            ]
        )

        hits = (await knowledge.search.find(ME, "elephant", 5)).hits

    assert hits[0].document.id == "high"
    assert {hit.document.id: hit.trust for hit in hits} == {
        "high": SourceTrust.HIGH,
        "normal": SourceTrust.NORMAL,
        "low": SourceTrust.LOW,
    }
    assert hits[-1].document.id == "low"


async def test_untrusted_results_do_not_crowd_out_trusted_ones(tmp_path: Path) -> None:
    async with room(
        tmp_path, thresholds=SearchThresholds(trust_patterns={"https://bad/*": SourceTrust.NONE})
    ) as knowledge:
        bad = [
            build_entry(f"b{n}", f"elephant elephant{n}", url=f"https://bad/{n}") for n in range(40)
        ]
        good = [build_entry(f"g{n}", f"an elephant among words number{n}") for n in range(5)]
        await knowledge.stores.documents.save([*bad, *good])

        hits = (await knowledge.search.find(ME, "elephant", 3)).hits

    assert len(hits) == 3
    assert all(hit.document.id.startswith("g") for hit in hits)


@pytest.mark.feature("F049")
async def test_results_below_the_score_threshold_are_dropped(tmp_path: Path) -> None:
    async with room(tmp_path, thresholds=SearchThresholds(min_score=0.9)) as knowledge:
        await knowledge.stores.documents.save(
            [
                build_entry("a", "an elephant and a giraffe"),
                build_entry("b", "an elephant among other words here"),
            ]
        )

        hits = (await knowledge.search.find(ME, "elephant giraffe", 5)).hits

    assert [hit.document.id for hit in hits] == ["a"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [("unheard", "these words"), ("elephant type:pdf", "filters")],
)
async def test_an_empty_result_says_why(
    knowledge: KnowledgeStores, query: str, reason: str
) -> None:
    await knowledge.stores.documents.save([build_entry("a", "elephant")])

    result = await knowledge.search.find(ME, query, 5)

    assert result.hits == ()
    assert reason in (result.note or "")


async def test_search_by_meaning_finds_only_passages_that_are_near_enough(
    semantic_knowledge: KnowledgeStores,
) -> None:
    await semantic_knowledge.stores.documents.save(
        [build_entry("a", "tall animals"), build_entry("b", "round stones")]
    )
    await semantic_knowledge.build_embedding_worker().embed_pending()

    found = await semantic_knowledge.search.find(ME, "tall", 5)

    assert [hit.document.id for hit in found.hits] == ["a"]  # b is not near enough


async def test_a_passage_without_a_vector_is_found_by_its_words(
    semantic_knowledge: KnowledgeStores,
) -> None:
    await semantic_knowledge.stores.documents.save([build_entry("a", "tall animals")])

    assert await semantic_knowledge.find("animals") == ["a"]


@pytest.mark.parametrize("failing_method", ["model", "embed"])
async def test_without_vectors_only_words_are_searched_and_a_note_says_so(
    tmp_path: Path, failing_method: str
) -> None:
    async with room(tmp_path, BagOfWordsEmbedder(fail_on=failing_method)) as knowledge:
        await knowledge.stores.documents.save([build_entry("a", "tall animals")])

        found = await knowledge.search.find(ME, "animals", 5)

    assert [hit.document.id for hit in found.hits] == ["a"]
    assert found.note == "Searched by words alone. Install it."


async def test_every_passage_is_embedded_once_for_each_model(
    tmp_path: Path,
) -> None:
    embedder = BagOfWordsEmbedder()
    async with room(tmp_path, embedder) as knowledge:
        await knowledge.stores.documents.save(
            [build_entry(f"d{number}", "one", "two") for number in range(50)]
        )
        remaining: list[int] = []

        assert await knowledge.build_embedding_worker().embed_pending(remaining.append) == 100
        assert remaining[0] == 100
        assert remaining == sorted(remaining, reverse=True)
        assert max(embedder.batch_sizes) <= 32
        assert await knowledge.build_embedding_worker().embed_pending() == 0
    other_embedder = BagOfWordsEmbedder("other")
    async with room(tmp_path, other_embedder) as knowledge:
        assert await knowledge.build_embedding_worker().embed_pending() == 100
        assert await knowledge.find("one")


async def test_two_processes_share_the_embedding_work(tmp_path: Path) -> None:
    first, second = BagOfWordsEmbedder(), BagOfWordsEmbedder()
    async with room(tmp_path, first) as one, room(tmp_path, second) as other:
        await one.stores.documents.save([build_entry(f"d{n}", "one", "two") for n in range(40)])

        async with asyncio.TaskGroup() as group:
            group.create_task(one.build_embedding_worker().embed_pending())
            group.create_task(other.build_embedding_worker().embed_pending())

    assert sum(first.batch_sizes) + sum(second.batch_sizes) == 80


async def test_a_note_is_found_and_replaced_by_its_title(knowledge: KnowledgeStores) -> None:
    first = await knowledge.library.add_note(ME, "The code is in the blue box.", "Codes")
    second = await knowledge.library.add_note(ME, "The code is in the red box.", "Codes")
    other = await knowledge.library.add_note(ME, "# Bicycle\n\nIt is in the cellar.")

    assert first.id == second.id != other.id
    [hit] = (await knowledge.search.find(ME, "code box", 5)).hits
    assert (hit.document.source, hit.snippet) == (Source.NOTES, "The code is in the red box.")
    assert (other.title, other.url) == ("Bicycle", f"junto://document/{other.id}")
    assert await knowledge.find("bicycle", YOU) == []
    with pytest.raises(InvalidInputError):
        await knowledge.library.add_note(ME, "  ")
    with pytest.raises(InvalidInputError, match="1,000,000"):
        await knowledge.library.add_note(ME, "x" * 1_000_001)


async def test_a_conversation_is_searchable_immediately(knowledge: KnowledgeStores) -> None:
    conversation = Conversation(
        id="c1", owner=ME, model="m", title="Animals", created=1.0, updated=1.0
    )
    messages = (
        StoredMessage(position=0, message=Message.user("Which animal is tallest?"), at=5.0),
        StoredMessage(position=1, message=Message.assistant("The giraffe."), at=6.0),
    )
    await knowledge.stores.conversations.save_turn(conversation, messages)

    [hit] = (await knowledge.search.find(ME, "giraffe", 5, (Source.CONVERSATIONS,))).hits

    assert (hit.passage.conversation, hit.passage.position, hit.passage.role) == (
        "c1", 1, "assistant",
    )  # fmt: skip
    assert (hit.document.title, hit.document.url) == ("Animals", "conversation://c1#1")
    assert (await knowledge.search.find(YOU, "giraffe", 5)).hits == ()
    await knowledge.stores.conversations.delete(ME, "c1")
    assert (await knowledge.search.find(ME, "giraffe", 5)).hits == ()


def new_library(knowledge: KnowledgeStores) -> DocumentLibrary:
    """Return the library of a new process, which has not indexed the manual yet."""
    return DocumentLibrary(knowledge.stores.documents, asyncio.Event())


@pytest.mark.feature("F158")
async def test_the_manual_is_indexed_on_demand_and_only_if_it_has_changed(
    knowledge: KnowledgeStores,
) -> None:
    found = await knowledge.search.find(ME, "how to limit retries", 3, (Source.SYSTEM,))
    before = await knowledge.dump("anybody")
    await new_library(knowledge).refresh((Source.SYSTEM,))

    assert len(found.hits) == 3
    assert all(hit.document.title.startswith("Junto: ") for hit in found.hits)
    assert await knowledge.dump("anybody") == before != []
    page = next(document for document in before if "settings" in str(document[2]).lower())
    stored = await knowledge.stores.documents.find(ME, str(page[0]))
    assert stored
    await knowledge.stores.documents.save(
        [replace(build_entry(stored.id, "old"), document=replace(stored, digest="old", length=3))]
    )
    await new_library(knowledge).refresh((Source.SYSTEM,))
    assert await knowledge.dump("anybody") == before


async def test_the_manual_includes_pages_in_subfolders(knowledge: KnowledgeStores) -> None:
    found = await knowledge.search.find(ME, "codex startup_timeout_sec", 1, (Source.SYSTEM,))

    assert [hit.document.title for hit in found.hits] == ["Junto: Codex"]


async def test_a_long_document_is_read_page_by_page(knowledge: KnowledgeStores) -> None:
    text = "".join(f"{number:05}," for number in range(PAGE_CHARS // 6 * 2 + 1000))
    await knowledge.stores.documents.save([build_entry("a" * 32, text)])

    pages = []
    next_id: str | None = "a" * 32
    while next_id:
        page = await knowledge.library.read_page(ME, next_id)
        pages.append(page.text)
        next_id = page.next_page_id

    assert "".join(pages) == text
    assert len(pages) == 3
    for id_ in ("document://" + "a" * 32, f"junto://document/{'a' * 32}:2", f"{'a' * 32}:2"):
        assert (await knowledge.library.read_page(ME, id_)).text in pages
    for missing in (f"{'a' * 32}:4", "nobody", "", ":2", f"{'a' * 32}:0"):
        with pytest.raises(NotFoundError):
            await knowledge.library.read_page(ME, missing)
    with pytest.raises(NotFoundError):
        await knowledge.library.read_page(YOU, "a" * 32)


async def test_searching_and_writing_run_concurrently(semantic_knowledge: KnowledgeStores) -> None:
    async def write(number: int) -> None:
        await semantic_knowledge.stores.documents.save(
            [build_entry(f"d{number}", f"elephant number{number}")]
        )

    async def read() -> None:
        await semantic_knowledge.search.find(ME, "elephant", 5)

    async with asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(write(number))
            group.create_task(read())
        group.create_task(semantic_knowledge.build_embedding_worker().embed_pending())
    await semantic_knowledge.build_embedding_worker().embed_pending()

    assert len(await semantic_knowledge.find("elephant")) == 10
