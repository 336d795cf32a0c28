"""What every store of conversations must do, in a file, in memory and in PostgreSQL."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from junto.domain.conversations import Conflict, Conversation, ConversationStore, Said
from junto.domain.errors import InputOutputError, InvalidInputError
from junto.domain.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from junto.domain.questions import Usage
from junto.storage.lazily import Lazily
from junto.storage.postgres.conversations import PostgresConversations
from junto.storage.postgres.database import Database as Postgres
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import Database as Sqlite

ME = "me"


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ConversationStore]:
    async with AsyncExitStack() as stack:
        if request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield PostgresConversations(Lazily(lambda: Postgres.opened(url), stack))
        else:
            path = tmp_path / "junto.db" if request.param == "file" else None
            yield SqliteConversations(Lazily(lambda: Sqlite.opened(path), stack))


def fresh(id_: str = "c1", at: float = 100.0, **more: object) -> Conversation:
    base = Conversation(id=id_, owner=ME, model="m", title="A title", created=at, updated=at)
    return replace(base, **more)  # type: ignore[arg-type]


def turn(position: int, text: str = "hello", at: float = 100.0) -> tuple[Said, Said]:
    usage = Usage(input_tokens=3, output_tokens=4)
    return (
        Said(position=position, message=Message.user(f"{text}?"), at=at),
        Said(
            position=position + 1,
            message=Message.assistant(f"{text}!"),
            at=at,
            model="m",
            provider="p",
            usage=usage,
            cost=Decimal("0.0000012"),
        ),
    )


async def grown(store: ConversationStore, conversation: Conversation, turns: int) -> Conversation:
    for number in range(turns):
        position = conversation.length
        assert await store.keep(conversation, turn(position, f"turn {number}")) is None
        conversation = replace(conversation, length=position + 2)
    return conversation


def _packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def texts(said: tuple[Said, ...]) -> list[str]:
    return [each.message.text for each in said]


@pytest.mark.feature("F076")
async def test_a_turn_is_kept_with_all_that_belongs_to_it(store: ConversationStore) -> None:
    everything = Message.assistant(
        Thinking("hm", "sig"), Text("see \N{SNOWMAN} \0 \ud800"), ToolCall("1", "t", {"a": [1]})
    )
    reply = Said(position=1, message=everything, at=2.5, model="m", provider="p", usage=Usage())
    shown = ToolResult("1", (Image("image/png", b"\x00\xff"),))
    asked = Said(position=0, message=Message.user("look", Image("image/png", b"\0"), shown), at=1.5)
    settings = {"temperature": 0.5}
    conversation = fresh(system="Be\0 kind", settings=settings, models=("m", "n"))

    assert await store.keep(conversation, (asked, reply)) is None

    found = await store.find(ME, "c1")
    assert found == replace(conversation, length=2, system="Be  kind")
    assert await store.said(ME, "c1") == (asked, reply)


async def test_what_is_not_there_is_not_found(store: ConversationStore) -> None:
    await grown(store, fresh(), 1)

    assert await store.find(ME, "other") is None
    assert await store.find("somebody else", "c1") is None
    assert await store.said("somebody else", "c1") == ()
    assert not await store.delete("somebody else", "c1")
    assert not await store.change(fresh("other"))
    assert (await store.listed("somebody else", None, 10)).conversations == ()


@pytest.mark.feature("F073")
async def test_two_owners_may_use_one_id_and_never_meet(store: ConversationStore) -> None:
    mine, theirs = fresh("same"), fresh("same", owner="them")

    await store.keep(mine, turn(0, "mine"))
    await store.keep(theirs, turn(0, "theirs"))

    assert texts(await store.said(ME, "same")) == ["mine?", "mine!"]
    assert texts(await store.said("them", "same")) == ["theirs?", "theirs!"]


async def test_any_stretch_of_a_conversation_can_be_read(store: ConversationStore) -> None:
    await grown(store, fresh(), 5)

    assert texts(await store.said(ME, "c1", 4, 7)) == ["turn 2?", "turn 2!", "turn 3?"]
    assert texts(await store.said(ME, "c1", 9)) == ["turn 4!"]
    assert texts(await store.said(ME, "c1", 10)) == []
    assert [each.position for each in await store.said(ME, "c1")] == list(range(10))


async def test_whoever_comes_second_changes_nothing_and_is_told(store: ConversationStore) -> None:
    seen = await grown(store, fresh(), 1)

    outcomes = await asyncio.gather(
        *(store.keep(seen, turn(2, f"writer {number}")) for number in range(8))
    )

    assert outcomes.count(None) == 1
    assert outcomes.count(Conflict(4)) == 7
    assert len(await store.said(ME, "c1")) == 4
    winner = outcomes.index(None)
    assert texts(await store.said(ME, "c1", 2)) == [f"writer {winner}?", f"writer {winner}!"]


async def test_of_two_who_begin_under_one_id_only_one_does(store: ConversationStore) -> None:
    outcomes = await asyncio.gather(
        *(store.keep(fresh(), turn(0, f"w{number}")) for number in range(6))
    )

    assert outcomes.count(None) == 1
    assert len(await store.said(ME, "c1")) == 2


@pytest.mark.feature("F060")
async def test_a_branch_shares_what_came_before_and_copies_nothing(
    store: ConversationStore,
) -> None:
    trunk = await grown(store, fresh(), 3)
    branch = trunk.branch("c2", 200.0, 4, model="n")

    await store.keep(branch, turn(4, "branched"))
    await grown(store, trunk, 1)

    assert texts(await store.said(ME, "c2")) == [
        "turn 0?", "turn 0!", "turn 1?", "turn 1!", "branched?", "branched!",
    ]  # fmt: skip
    assert len(await store.said(ME, "c1")) == 8
    found = await store.find(ME, "c2")
    assert found
    assert (found.parent, found.inherited, found.length, found.model) == ("c1", 4, 6, "n")
    own = {each.id: len(said) async for each, said in store.everything(ME)}
    assert own == {"c1": 8, "c2": 2}


async def test_branches_of_branches_may_leave_before_their_parents_did(
    store: ConversationStore,
) -> None:
    trunk = await grown(store, fresh(), 3)
    second = trunk.branch("c2", 1.0, 4)
    await store.keep(second, turn(4, "second"))
    third = replace(second, length=6).branch("c3", 2.0, 2)  # before c2 left c1
    await store.keep(third, turn(2, "third"))
    fourth = replace(third, length=4).branch("c4", 3.0)

    await store.keep(fourth, ())

    assert texts(await store.said(ME, "c3")) == ["turn 0?", "turn 0!", "third?", "third!"]
    assert texts(await store.said(ME, "c4")) == ["turn 0?", "turn 0!", "third?", "third!"]
    assert texts(await store.said(ME, "c4", 1, 3)) == ["turn 0!", "third?"]


async def test_a_deleted_conversation_is_gone_but_its_branches_are_whole(
    store: ConversationStore,
) -> None:
    trunk = await grown(store, fresh(), 2)
    await store.keep(trunk.branch("c2", 1.0), turn(4, "branched"))

    assert await store.delete(ME, "c1")
    assert not await store.delete(ME, "c1")

    assert await store.find(ME, "c1") is None
    assert await store.keep(trunk, turn(4)) == Conflict(0)
    assert len(await store.said(ME, "c2")) == 6
    assert await store.count() == 1
    await store.delete(ME, "c2")
    assert [each async for each in store.everything(ME)] == []


async def test_the_id_of_what_was_deleted_is_free_again_and_its_branches_are_whole(
    store: ConversationStore,
) -> None:
    trunk = await grown(store, fresh(), 2)
    await store.keep(trunk.branch("c2", 1.0), turn(4, "branched"))
    await store.delete(ME, "c1")

    assert await store.keep(fresh(), turn(0, "anew")) is None

    assert texts(await store.said(ME, "c1")) == ["anew?", "anew!"]
    assert len(await store.said(ME, "c2")) == 6
    with pytest.raises(InputOutputError, match="branches off"):
        await store.keep(trunk.branch("c3", 1.0), turn(4))  # of a trunk that is no longer there


async def test_going_on_with_what_was_deleted_meanwhile_is_a_conflict(
    store: ConversationStore,
) -> None:
    seen = await grown(store, fresh(), 1)
    await store.delete(ME, "c1")

    assert await store.keep(seen, turn(2)) == Conflict(0)
    with pytest.raises(InputOutputError, match="branches off"):
        await store.keep(seen.branch("c2", 1.0), turn(2))


@pytest.mark.feature("F071")
async def test_the_idle_are_swept_and_those_that_were_looked_at_stay(
    store: ConversationStore,
) -> None:
    for number in range(4):
        await store.keep(fresh(f"c{number}", at=float(number)), turn(0))
    await store.touch(ME, "c0", 50.0)
    await store.touch(ME, "c3", 1.0)  # a clock that lags takes nothing back

    assert await store.sweep(3.0) == 2
    assert await store.sweep(3.0) == 0

    left = await store.listed(ME, None, 10)
    assert [each.id for each in left.conversations] == ["c3", "c0"]


async def test_the_latest_come_first_and_pages_follow_each_other(store: ConversationStore) -> None:
    for number in range(25):
        await store.keep(fresh(f"c{number:02}", at=float(number // 3)), turn(0))

    seen: list[str] = []
    cursor = None
    while True:
        page = await store.listed(ME, None, 10, cursor)
        seen += [each.id for each in page.conversations]
        if (cursor := page.cursor) is None:
            break
        if len(seen) == 10:
            await store.keep(fresh("new", at=1000.0), turn(0))  # ahead of where we are

    assert seen == [f"c{number:02}" for number in reversed(range(25))]
    for forged in (
        "nonsense",
        "W1tbW1tb",
        *map(_packed, ("[1,1e400]", f"[1,{10**30}]", "[NaN,1]")),
    ):
        with pytest.raises(InvalidInputError, match="cursor"):
            await store.listed(ME, None, 10, forged)


async def test_titles_are_searched_as_they_are_written(store: ConversationStore) -> None:
    for id_, title in {"a": "Über 100%", "b": "100 days", "c": "a_b", "d": "axb"}.items():
        await store.keep(fresh(id_, title=title), turn(0))

    async def found(text: str) -> set[str]:
        return {each.id for each in (await store.listed(ME, text, 10)).conversations}

    assert await found("100%") == {"a"}
    assert await found("DAYS") == {"b"}
    assert await found("a_b") == {"c"}
    assert await found("nothing") == set()


async def test_titles_prompts_and_settings_can_be_changed(store: ConversationStore) -> None:
    await store.keep(fresh(), turn(0))

    assert await store.change(fresh(title="New", system="Pirate", settings={"x": 1}))

    found = await store.find(ME, "c1")
    assert found
    assert (found.title, found.system, found.settings, found.length) == (
        "New", "Pirate", {"x": 1}, 2,
    )  # fmt: skip


async def test_a_failed_step_leaves_no_trace(store: ConversationStore) -> None:
    twice = (*turn(0), *turn(0))  # two messages in one place

    with pytest.raises(InputOutputError):
        await store.keep(fresh(), twice)

    assert await store.find(ME, "c1") is None
    assert [each async for each in store.everything(ME)] == []
    assert await store.keep(fresh(), turn(0)) is None


async def test_a_call_that_is_cancelled_leaves_the_store_usable(store: ConversationStore) -> None:
    tasks = [asyncio.create_task(store.keep(fresh(f"c{n}"), turn(0))) for n in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert await store.keep(fresh("after"), turn(0)) is None
    for number in range(20):
        assert len(await store.said(ME, f"c{number}")) in (0, 2)
