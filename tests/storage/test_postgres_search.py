"""What searching in PostgreSQL has to do beyond what every store of documents must."""

from contextlib import AsyncExitStack

import psycopg
import pytest

from junto.domain.conversations import Conversation, Said
from junto.domain.documents import Model, Scope
from junto.domain.errors import InputOutputError
from junto.domain.messages import Message
from tests.storage.libraries import (
    LATER,
    ME,
    MODEL,
    YOU,
    entry,
    message_entry,
    on_postgres,
    vector,
)


async def test_a_server_without_vectors_says_what_to_do_and_finds_words(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("DROP ROLE IF EXISTS plain")
        server.execute("CREATE ROLE plain LOGIN")
        server.execute("GRANT ALL ON SCHEMA public TO plain")
    async with AsyncExitStack() as stack:
        library = on_postgres(postgres_url.replace("//postgres:", "//plain:"), stack)
        await library.documents.keep([entry("a", "one")])

        for attempt in (
            library.search.by_meaning(Scope(owner=ME), MODEL, vector(1, 0, 0), 5),
            library.vectors.unplaced(MODEL, 0, 5),
            library.vectors.place(MODEL, {1: vector(1, 0, 0)}),
        ):
            with pytest.raises(InputOutputError, match="CREATE EXTENSION vector"):
                await attempt

        assert len(await library.search.by_words(Scope(owner=ME), ("one",), 5)) == 1
        assert await library.vectors.left(MODEL) == 1
        with psycopg.connect(postgres_url, autocommit=True) as server:
            server.execute("CREATE EXTENSION vector")
        await library.vectors.place(MODEL, {1: vector(1, 0, 0)})
        assert await library.vectors.left(MODEL) == 0


async def test_vectors_that_are_too_long_for_an_index_are_found(postgres_url: str) -> None:
    model = Model("long", 5000)
    async with AsyncExitStack() as stack:
        library = on_postgres(postgres_url, stack)
        await library.documents.keep([entry("a", "one"), entry("b", "two")])
        [one, two] = [each.key for each in await library.vectors.unplaced(model, 0, 5)]
        await library.vectors.place(
            model, {one: vector(1, *[0.0] * 4999), two: vector(*[0.0] * 4999, 1)}
        )

        found = await library.search.by_meaning(Scope(owner=ME), model, vector(*[0.0] * 4999, 1), 2)

        assert [(match.key, round(match.score, 3)) for match in found] == [(two, 1), (one, 0)]


async def test_what_belongs_to_a_model_goes_with_it(postgres_url: str) -> None:
    async with AsyncExitStack() as stack:
        library = on_postgres(postgres_url, stack)
        await library.documents.keep([entry("a", "one")])
        await library.vectors.place(Model("old", 3), {1: vector(1, 0, 0)})
        await library.vectors.place(MODEL, {1: vector(1, 0, 0)})

        await library.vectors.settle(MODEL, LATER)

        with psycopg.connect(postgres_url) as server:
            indexes = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'vectors_of_%'"
            assert server.execute(indexes).fetchall() == [("vectors_of_2",)]
            assert server.execute("SELECT name FROM embedders").fetchall() == [(MODEL.name,)]


@pytest.mark.parametrize("analyzed", [False, True])
async def test_a_word_that_the_server_knows_to_be_everywhere_need_not_be_counted(
    postgres_url: str, *, analyzed: bool
) -> None:
    async with AsyncExitStack() as stack:
        library = on_postgres(postgres_url, stack, most_ranked=5)
        await library.documents.keep([entry(f"y{n}", "common", owner=YOU) for n in range(20)])
        await library.documents.keep([entry(f"m{n}", "common") for n in range(200)])
        await library.documents.keep([entry("x", "needle common")])
        if analyzed:
            with psycopg.connect(postgres_url, autocommit=True) as server:
                server.execute("ANALYZE")

        for owner, words, number in (
            (ME, ("needle", "common"), 1),
            (ME, ("common",), 5),
            (YOU, ("common",), 5),
        ):
            found = await library.search.by_words(Scope(owner=owner), words, 10)
            shown = await library.search.passages([match.key for match in found])
            assert len(found) == number
            assert {passage.document.owner for passage in shown.values()} == {owner}


SAY = """
INSERT INTO messages (conversation, position, role, parts, at)
SELECT key, 0, 'user', '[{"kind":"text","text":"early"}]', 1 FROM conversations WHERE id = 'early'
"""


async def test_a_message_that_comes_after_later_ones_is_read(postgres_url: str) -> None:
    def talk(id_: str) -> Conversation:
        return Conversation(id=id_, owner=ME, model="m", title="", created=1.0, updated=1.0)

    async with AsyncExitStack() as stack:
        library = on_postgres(postgres_url, stack)
        await library.conversations.keep(talk("early"), ())
        with psycopg.connect(postgres_url) as slow:
            slow.execute(SAY)  # and does not commit yet
            late = Said(position=0, message=Message.user("late"), at=2.0)
            await library.conversations.keep(talk("late"), (late,))
            first = await library.documents.unread(10)
            await library.documents.keep([message_entry(each) for each in first])

        second = await library.documents.unread(10)

        assert [each.text for each in (*first, *second)] == ["late", "early"]
        assert second[0].key < first[0].key
