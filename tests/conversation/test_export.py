"""Any tree of conversations is the same after it was exported and imported."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from junto.conversation.export import export_lines, import_from_lines
from junto.domain.conversations import Conversation, StoredMessage
from junto.domain.messages import Message, TextPart, ThinkingPart, ToolCall, ToolResult
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import SqliteDatabase
from tests.conversation.open_database import database_opener

words = st.text(max_size=20)
messages = st.one_of(
    st.builds(Message.user, words),
    st.builds(lambda a, b: Message.assistant(ThinkingPart(a, b), TextPart(b)), words, words),
    st.builds(lambda n: Message.assistant(ToolCall("1", "t", {"n": n})), st.integers()),
    st.builds(lambda text: Message.user(ToolResult("1", (TextPart(text),))), words),
)
# Add messages to a conversation, branch off from one, or delete one.
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


async def grow_tree(
    store: SqliteConversations, script: list[tuple[str, int, int, list[Message]]]
) -> None:
    await store.save_turn(Conversation(id="c", owner="me", model="m", title="t", created=1.0), ())
    ids = ["c"]
    for number, (action, index, position, new_messages) in enumerate(script):
        conversation = await store.find("me", ids[index % len(ids)])
        if conversation is None:
            continue
        if action == "delete":
            await store.delete("me", conversation.id)
        elif action == "branch":
            ids.append(f"b{number}")
            await store.save_turn(conversation.branch(ids[-1], float(number), position), ())
        else:
            turn = tuple(
                StoredMessage(
                    position=conversation.length + offset, message=message, at=float(number)
                )
                for offset, message in enumerate(new_messages)
            )
            await store.save_turn(replace(conversation, updated=float(number)), turn)


@given(steps)
async def test_an_exported_tree_is_imported_unchanged(
    script: list[tuple[str, int, int, list[Message]]],
) -> None:
    async with SqliteDatabase.open(None) as first, SqliteDatabase.open(None) as second:
        old, new = (
            SqliteConversations(database_opener(first)),
            SqliteConversations(database_opener(second)),
        )
        await grow_tree(old, script)
        lines = [line async for line in export_lines(old, "me")]

        assert await import_from_lines(new, "me", lines) == len(lines)

        assert [each async for each in new.iter_all("me")] == [
            each async for each in old.iter_all("me")
        ]
        for conversation in (await new.list_conversations("me", None, 100)).conversations:
            assert await new.load_messages("me", conversation.id) == await old.load_messages(
                "me", conversation.id
            )
