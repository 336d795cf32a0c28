"""Search behaviour of PostgreSQL beyond the contract of every document store."""

from contextlib import AsyncExitStack

import psycopg
import pytest

from junto.domain.conversations import Conversation, StoredMessage
from junto.domain.documents import EmbeddingModel, SearchScope
from junto.domain.errors import InputOutputError
from junto.domain.messages import Message
from tests.storage.document_stores import (
    LATER,
    ME,
    MODEL,
    YOU,
    build_entry,
    build_message_entry,
    build_vector,
    open_postgres_stores,
)


async def test_without_pgvector_keywords_are_found_and_errors_name_the_fix(
    postgres_url: str,
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("DROP ROLE IF EXISTS plain")
        server.execute("CREATE ROLE plain LOGIN")
        server.execute("GRANT ALL ON SCHEMA public TO plain")
    async with AsyncExitStack() as stack:
        stores = open_postgres_stores(postgres_url.replace("//postgres:", "//plain:"), stack)
        await stores.documents.save([build_entry("a", "one")])

        for attempt in (
            stores.search.search_vectors(SearchScope(owner=ME), MODEL, build_vector(1, 0, 0), 5),
            stores.vectors.list_pending(MODEL, 0, 5),
            stores.vectors.save_vectors(MODEL, {1: build_vector(1, 0, 0)}),
        ):
            with pytest.raises(InputOutputError, match="CREATE EXTENSION vector"):
                await attempt

        assert len(await stores.search.search_keywords(SearchScope(owner=ME), ("one",), 5)) == 1
        assert await stores.vectors.count_pending(MODEL) == 1
        with psycopg.connect(postgres_url, autocommit=True) as server:
            server.execute("CREATE EXTENSION vector")
        await stores.vectors.save_vectors(MODEL, {1: build_vector(1, 0, 0)})
        assert await stores.vectors.count_pending(MODEL) == 0


async def test_vectors_too_long_for_an_index_are_found(postgres_url: str) -> None:
    model = EmbeddingModel("long", 5000)
    async with AsyncExitStack() as stack:
        stores = open_postgres_stores(postgres_url, stack)
        await stores.documents.save([build_entry("a", "one"), build_entry("b", "two")])
        [one, two] = [each.key for each in await stores.vectors.list_pending(model, 0, 5)]
        await stores.vectors.save_vectors(
            model, {one: build_vector(1, *[0.0] * 4999), two: build_vector(*[0.0] * 4999, 1)}
        )

        found = await stores.search.search_vectors(
            SearchScope(owner=ME), model, build_vector(*[0.0] * 4999, 1), 2
        )

        assert [(match.key, round(match.score, 3)) for match in found] == [(two, 1), (one, 0)]


async def test_optimizing_drops_the_index_of_an_unused_model(postgres_url: str) -> None:
    async with AsyncExitStack() as stack:
        stores = open_postgres_stores(postgres_url, stack)
        await stores.documents.save([build_entry("a", "one")])
        await stores.vectors.save_vectors(EmbeddingModel("old", 3), {1: build_vector(1, 0, 0)})
        await stores.vectors.save_vectors(MODEL, {1: build_vector(1, 0, 0)})

        await stores.vectors.optimize(MODEL, LATER)

        with psycopg.connect(postgres_url) as server:
            indexes = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'vectors_of_%'"
            assert server.execute(indexes).fetchall() == [("vectors_of_2",)]
            assert server.execute("SELECT name FROM embedders").fetchall() == [(MODEL.name,)]


@pytest.mark.parametrize("analyzed", [False, True])
async def test_common_words_are_found_with_and_without_table_statistics(
    postgres_url: str, *, analyzed: bool
) -> None:
    async with AsyncExitStack() as stack:
        stores = open_postgres_stores(postgres_url, stack, max_ranked=5)
        await stores.documents.save([build_entry(f"y{n}", "common", owner=YOU) for n in range(20)])
        await stores.documents.save([build_entry(f"m{n}", "common") for n in range(200)])
        await stores.documents.save([build_entry("x", "needle common")])
        if analyzed:
            with psycopg.connect(postgres_url, autocommit=True) as server:
                server.execute("ANALYZE")

        for owner, words, expected_count in (
            (ME, ("needle", "common"), 1),
            (ME, ("common",), 5),
            (YOU, ("common",), 5),
        ):
            found = await stores.search.search_keywords(SearchScope(owner=owner), words, 10)
            passages = await stores.search.load_passages([match.key for match in found])
            assert len(found) == expected_count
            assert {passage.document.owner for passage in passages.values()} == {owner}


INSERT_MESSAGE = """
INSERT INTO messages (conversation, position, role, parts, at)
SELECT key, 0, 'user', '[{"kind":"text","text":"early"}]', 1 FROM conversations WHERE id = 'early'
"""


async def test_a_message_committed_after_later_ones_is_listed(postgres_url: str) -> None:
    def build_conversation(id_: str) -> Conversation:
        return Conversation(id=id_, owner=ME, model="m", title="", created=1.0, updated=1.0)

    async with AsyncExitStack() as stack:
        stores = open_postgres_stores(postgres_url, stack)
        await stores.conversations.save_turn(build_conversation("early"), ())
        with psycopg.connect(postgres_url) as slow_writer:
            slow_writer.execute(INSERT_MESSAGE)  # not committed yet
            late_message = StoredMessage(position=0, message=Message.user("late"), at=2.0)
            await stores.conversations.save_turn(build_conversation("late"), (late_message,))
            first = await stores.documents.list_unindexed_messages(10)
            await stores.documents.save([build_message_entry(each) for each in first])

        second = await stores.documents.list_unindexed_messages(10)

        assert [each.text for each in (*first, *second)] == ["late", "early"]
        assert second[0].key < first[0].key
