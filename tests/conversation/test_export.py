"""Whatever grew is the same tree after it was exported and read back."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from junto.conversation.archive import exported, imported
from junto.domain.conversations import Conversation, Said
from junto.domain.messages import Message, Text, Thinking, ToolCall, ToolResult
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import Database
from tests.conversation.support import already

words = st.text(max_size=20)
messages = st.one_of(
    st.builds(Message.user, words),
    st.builds(lambda a, b: Message.assistant(Thinking(a, b), Text(b)), words, words),
    st.builds(lambda n: Message.assistant(ToolCall("1", "t", {"n": n})), st.integers()),
    st.builds(lambda text: Message.user(ToolResult("1", (Text(text),))), words),
)
# Grow a line by some messages, branch off from one, or delete one.
steps = st.lists(
    st.tuples(
        st.sampled_from(["grow", "branch", "delete"]),
        st.integers(0, 50),
        st.integers(0, 8),
        st.lists(messages, min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=12,
)


async def grown(
    store: SqliteConversations, script: list[tuple[str, int, int, list[Message]]]
) -> None:
    await store.keep(Conversation(id="c", owner="me", model="m", title="t", created=1.0), ())
    ids = ["c"]
    for number, (what, which, where, said) in enumerate(script):
        found = await store.find("me", ids[which % len(ids)])
        if found is None:
            continue
        if what == "delete":
            await store.delete("me", found.id)
        elif what == "branch":
            ids.append(f"b{number}")
            await store.keep(found.branch(ids[-1], float(number), where), ())
        else:
            turn = tuple(
                Said(position=found.length + place, message=message, at=float(number))
                for place, message in enumerate(said)
            )
            await store.keep(replace(found, updated=float(number)), turn)


@given(steps)
async def test_what_is_exported_is_read_back_as_the_same_tree(
    script: list[tuple[str, int, int, list[Message]]],
) -> None:
    async with Database.opened(None) as first, Database.opened(None) as second:
        old, new = SqliteConversations(already(first)), SqliteConversations(already(second))
        await grown(old, script)
        lines = [line async for line in exported(old, "me")]

        assert await imported(new, "me", lines) == len(lines)

        assert [each async for each in new.everything("me")] == [
            each async for each in old.everything("me")
        ]
        for conversation in (await new.listed("me", None, 100)).conversations:
            assert await new.said("me", conversation.id) == await old.said("me", conversation.id)
