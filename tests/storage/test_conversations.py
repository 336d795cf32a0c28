"""Contract tests for every conversation store: SQLite file, in-memory SQLite, PostgreSQL."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from junto.domain.completions import Usage
from junto.domain.conversations import Conflict, Conversation, ConversationStore, StoredMessage
from junto.domain.errors import InputOutputError, InvalidInputError
from junto.domain.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCall, ToolResult
from junto.runtime.lazy import Lazy
from junto.storage.postgres.conversations import PostgresConversations
from junto.storage.postgres.database import PostgresDatabase as Postgres
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import SqliteDatabase as Sqlite
from tests.event_loop import yield_to_tasks

ME = "me"


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ConversationStore]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield PostgresConversations(Lazy(lambda: Postgres.open(url), stack))
        else:
            path = tmp_path / "junto.db" if request.param == "file" else None
            yield SqliteConversations(Lazy(lambda: Sqlite.open(path), stack))


def build_conversation(id_: str = "c1", at: float = 100.0, **changes: object) -> Conversation:
    base = Conversation(id=id_, owner=ME, model="m", title="A title", created=at, updated=at)
    return replace(base, **changes)  # type: ignore[arg-type]


def turn(
    position: int, text: str = "hello", at: float = 100.0
) -> tuple[StoredMessage, StoredMessage]:
    usage = Usage(input_tokens=3, output_tokens=4)
    return (
        StoredMessage(position=position, message=Message.user(f"{text}?"), at=at),
        StoredMessage(
            position=position + 1,
            message=Message.assistant(f"{text}!"),
            at=at,
            model="m",
            provider="p",
            usage=usage,
            cost=Decimal("0.0000012"),
        ),
    )


async def add_turns(
    store: ConversationStore, conversation: Conversation, turns: int
) -> Conversation:
    for number in range(turns):
        position = conversation.length
        assert await store.save_turn(conversation, turn(position, f"turn {number}")) is None
        conversation = replace(conversation, length=position + 2)
    return conversation


def encode_cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def texts(messages: tuple[StoredMessage, ...]) -> list[str]:
    return [each.message.text for each in messages]


@pytest.mark.feature("F076")
async def test_a_turn_is_saved_with_all_its_parts_and_settings(store: ConversationStore) -> None:
    reply_message = Message.assistant(
        ThinkingPart("hm", "sig"),
        TextPart("see \N{SNOWMAN} \0 \ud800"),
        ToolCall("1", "t", {"a": [1]}),
    )
    reply = StoredMessage(
        position=1, message=reply_message, at=2.5, model="m", provider="p", usage=Usage()
    )
    tool_result = ToolResult("1", (ImagePart("image/png", b"\x00\xff"),))
    question = StoredMessage(
        position=0, message=Message.user("look", ImagePart("image/png", b"\0"), tool_result), at=1.5
    )
    settings = {"temperature": 0.5}
    conversation = build_conversation(system="Be\0 kind", settings=settings, models=("m", "n"))

    assert await store.save_turn(conversation, (question, reply)) is None

    found = await store.find(ME, "c1")
    assert found == replace(conversation, length=2, system="Be  kind")
    assert await store.load_messages(ME, "c1") == (question, reply)


async def test_unknown_conversations_and_those_of_other_owners_are_not_found(
    store: ConversationStore,
) -> None:
    await add_turns(store, build_conversation(), 1)

    assert await store.find(ME, "other") is None
    assert await store.find("somebody else", "c1") is None
    assert await store.load_messages("somebody else", "c1") == ()
    assert not await store.delete("somebody else", "c1")
    assert not await store.update(build_conversation("other"))
    assert (await store.list_conversations("somebody else", None, 10)).conversations == ()


@pytest.mark.feature("F073")
async def test_two_owners_can_use_the_same_id_independently(store: ConversationStore) -> None:
    mine, theirs = build_conversation("same"), build_conversation("same", owner="them")

    await store.save_turn(mine, turn(0, "mine"))
    await store.save_turn(theirs, turn(0, "theirs"))

    assert texts(await store.load_messages(ME, "same")) == ["mine?", "mine!"]
    assert texts(await store.load_messages("them", "same")) == ["theirs?", "theirs!"]


async def test_any_range_of_messages_can_be_loaded(store: ConversationStore) -> None:
    await add_turns(store, build_conversation(), 5)

    assert texts(await store.load_messages(ME, "c1", 4, 7)) == ["turn 2?", "turn 2!", "turn 3?"]
    assert texts(await store.load_messages(ME, "c1", 9)) == ["turn 4!"]
    assert texts(await store.load_messages(ME, "c1", 10)) == []
    assert [each.position for each in await store.load_messages(ME, "c1")] == list(range(10))


async def test_only_one_concurrent_writer_succeeds_and_the_others_get_a_conflict(
    store: ConversationStore,
) -> None:
    current = await add_turns(store, build_conversation(), 1)

    outcomes = await asyncio.gather(
        *(store.save_turn(current, turn(2, f"writer {number}")) for number in range(8))
    )

    assert outcomes.count(None) == 1
    assert outcomes.count(Conflict(4)) == 7
    assert len(await store.load_messages(ME, "c1")) == 4
    winner = outcomes.index(None)
    assert texts(await store.load_messages(ME, "c1", 2)) == [
        f"writer {winner}?",
        f"writer {winner}!",
    ]


async def test_only_one_of_several_writers_creates_a_conversation(store: ConversationStore) -> None:
    outcomes = await asyncio.gather(
        *(store.save_turn(build_conversation(), turn(0, f"w{number}")) for number in range(6))
    )

    assert outcomes.count(None) == 1
    assert len(await store.load_messages(ME, "c1")) == 2


@pytest.mark.feature("F060")
async def test_a_branch_shares_earlier_messages_without_copying_them(
    store: ConversationStore,
) -> None:
    trunk = await add_turns(store, build_conversation(), 3)
    branch = trunk.branch("c2", 200.0, 4, model="n")

    await store.save_turn(branch, turn(4, "branched"))
    await add_turns(store, trunk, 1)

    assert texts(await store.load_messages(ME, "c2")) == [
        "turn 0?", "turn 0!", "turn 1?", "turn 1!", "branched?", "branched!",
    ]  # fmt: skip
    assert len(await store.load_messages(ME, "c1")) == 8
    found = await store.find(ME, "c2")
    assert found
    assert (found.parent, found.inherited, found.length, found.model) == ("c1", 4, 6, "n")
    own_counts = {each.id: len(messages) async for each, messages in store.iter_all(ME)}
    assert own_counts == {"c1": 8, "c2": 2}


async def test_a_branch_may_start_before_the_point_where_its_parent_branched(
    store: ConversationStore,
) -> None:
    trunk = await add_turns(store, build_conversation(), 3)
    second = trunk.branch("c2", 1.0, 4)
    await store.save_turn(second, turn(4, "second"))
    third = replace(second, length=6).branch("c3", 2.0, 2)  # before the point where c2 branched
    await store.save_turn(third, turn(2, "third"))
    fourth = replace(third, length=4).branch("c4", 3.0)

    await store.save_turn(fourth, ())

    assert texts(await store.load_messages(ME, "c3")) == ["turn 0?", "turn 0!", "third?", "third!"]
    assert texts(await store.load_messages(ME, "c4")) == ["turn 0?", "turn 0!", "third?", "third!"]
    assert texts(await store.load_messages(ME, "c4", 1, 3)) == ["turn 0!", "third?"]


async def test_deleting_a_conversation_leaves_its_branches_complete(
    store: ConversationStore,
) -> None:
    trunk = await add_turns(store, build_conversation(), 2)
    await store.save_turn(trunk.branch("c2", 1.0), turn(4, "branched"))

    assert await store.delete(ME, "c1")
    assert not await store.delete(ME, "c1")

    assert await store.find(ME, "c1") is None
    assert await store.save_turn(trunk, turn(4)) == Conflict(0)
    assert len(await store.load_messages(ME, "c2")) == 6
    assert await store.count() == 1
    await store.delete(ME, "c2")
    assert [each async for each in store.iter_all(ME)] == []


async def test_the_id_of_a_deleted_conversation_can_be_reused_beside_its_branches(
    store: ConversationStore,
) -> None:
    trunk = await add_turns(store, build_conversation(), 2)
    await store.save_turn(trunk.branch("c2", 1.0), turn(4, "branched"))
    await store.delete(ME, "c1")

    assert await store.save_turn(build_conversation(), turn(0, "anew")) is None

    assert texts(await store.load_messages(ME, "c1")) == ["anew?", "anew!"]
    assert len(await store.load_messages(ME, "c2")) == 6
    with pytest.raises(InputOutputError, match="branches off"):
        # The trunk no longer exists.
        await store.save_turn(trunk.branch("c3", 1.0), turn(4))


async def test_continuing_a_deleted_conversation_is_a_conflict(
    store: ConversationStore,
) -> None:
    deleted = await add_turns(store, build_conversation(), 1)
    await store.delete(ME, "c1")

    assert await store.save_turn(deleted, turn(2)) == Conflict(0)
    with pytest.raises(InputOutputError, match="branches off"):
        await store.save_turn(deleted.branch("c2", 1.0), turn(2))


@pytest.mark.feature("F071")
async def test_idle_conversations_expire_unless_they_were_touched(
    store: ConversationStore,
) -> None:
    for number in range(4):
        await store.save_turn(build_conversation(f"c{number}", at=float(number)), turn(0))
    await store.touch(ME, "c0", 50.0)
    await store.touch(ME, "c3", 1.0)  # a lagging clock must not move it back

    assert await store.delete_expired(3.0) == 2
    assert await store.delete_expired(3.0) == 0

    remaining = await store.list_conversations(ME, None, 10)
    assert [each.id for each in remaining.conversations] == ["c3", "c0"]


async def test_conversations_are_listed_latest_first_page_by_page(store: ConversationStore) -> None:
    for number in range(25):
        await store.save_turn(build_conversation(f"c{number:02}", at=float(number // 3)), turn(0))

    ids: list[str] = []
    cursor = None
    while True:
        page = await store.list_conversations(ME, None, 10, cursor)
        ids += [each.id for each in page.conversations]
        if (cursor := page.cursor) is None:
            break
        if len(ids) == 10:
            # A new conversation sorts before the pages already read.
            await store.save_turn(build_conversation("new", at=1000.0), turn(0))

    assert ids == [f"c{number:02}" for number in reversed(range(25))]
    for forged in (
        "nonsense",
        "W1tbW1tb",
        *map(encode_cursor, ("[1,1e400]", f"[1,{10**30}]", "[NaN,1]")),
    ):
        with pytest.raises(InvalidInputError, match="cursor"):
            await store.list_conversations(ME, None, 10, forged)


async def test_titles_are_searched_literally_ignoring_case(store: ConversationStore) -> None:
    for id_, title in {"a": "Über 100%", "b": "100 days", "c": "a_b", "d": "axb"}.items():
        await store.save_turn(build_conversation(id_, title=title), turn(0))

    async def search_ids(text: str) -> set[str]:
        return {each.id for each in (await store.list_conversations(ME, text, 10)).conversations}

    assert await search_ids("100%") == {"a"}
    assert await search_ids("DAYS") == {"b"}
    assert await search_ids("a_b") == {"c"}
    assert await search_ids("nothing") == set()


async def test_titles_prompts_and_settings_can_be_changed(store: ConversationStore) -> None:
    await store.save_turn(build_conversation(), turn(0))

    assert await store.update(build_conversation(title="New", system="Pirate", settings={"x": 1}))

    found = await store.find(ME, "c1")
    assert found
    assert (found.title, found.system, found.settings, found.length) == (
        "New", "Pirate", {"x": 1}, 2,
    )  # fmt: skip


async def test_a_failed_save_leaves_nothing_behind(store: ConversationStore) -> None:
    duplicates = (*turn(0), *turn(0))  # two messages per position

    with pytest.raises(InputOutputError):
        await store.save_turn(build_conversation(), duplicates)

    assert await store.find(ME, "c1") is None
    assert [each async for each in store.iter_all(ME)] == []
    assert await store.save_turn(build_conversation(), turn(0)) is None


async def test_a_cancelled_save_leaves_the_store_usable(store: ConversationStore) -> None:
    tasks = [
        asyncio.create_task(store.save_turn(build_conversation(f"c{n}"), turn(0)))
        for n in range(20)
    ]
    await yield_to_tasks()
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert await store.save_turn(build_conversation("after"), turn(0)) is None
    for number in range(20):
        assert len(await store.load_messages(ME, f"c{number}")) in (0, 2)
