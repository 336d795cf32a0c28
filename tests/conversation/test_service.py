"""Conversations with models: what is sent, what is saved, and what is not."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from junto.app.application import build_app
from junto.app.models import build_catalog
from junto.app.services import build_conversations
from junto.app.storage import build_stores
from junto.conversation.export import export_lines, format_markdown, import_from_lines
from junto.conversation.retention import Sweeper
from junto.conversation.service import ChatRequest, Conversations, Reply, RequestSent
from junto.domain.completions import (
    Answer,
    AnswerEvent,
    Event,
    Question,
    StopReason,
    TextDelta,
    Usage,
)
from junto.domain.conversations import ConversationStore
from junto.domain.errors import (
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
)
from junto.domain.messages import ImagePart, Message, TextPart
from junto.settings import load_settings
from junto.settings.schema import Settings
from tests.providers.scripted_provider import ScriptedProvider, build_answer_event

PRICE = {"input": 1, "output": 2}
MODELS = [
    {"id": "a", "provider": "anthropic", "baseUrl": "http://x", "price": PRICE},
    {"id": "b", "baseUrl": "http://x", "contextWindow": 8192},
]


def answer_events(text: str, model: str = "a") -> tuple[Event, ...]:
    answer = build_answer_event(text).answer
    return (TextDelta(text), replace(build_answer_event(text), answer=replace(answer, model=model)))


@dataclass
class Chat:
    conversations: Conversations
    store: ConversationStore
    provider: ScriptedProvider
    now: list[float] = field(default_factory=lambda: [1000.0])

    async def ask(self, text: str = "Hi", **options: Any) -> Reply:
        request = ChatRequest(
            message=Message.user(text), owner=options.pop("owner", "me"), **options
        )
        return await read_reply(self.conversations.reply(request))

    def stream_reply(
        self, text: str, previous: Reply
    ) -> AsyncGenerator[Event | RequestSent | Reply]:
        request = ChatRequest(
            message=Message.user(text), owner="me", conversation_id=previous.conversation_id
        )
        return self.conversations.reply(request)

    @property
    def last_question(self) -> Question:
        return self.provider.asked[-1]

    async def load_texts(self, id_: str | None) -> list[str]:
        assert id_
        return [stored.message.text for stored in await self.store.load_messages("me", id_)]


async def read_reply(events: AsyncGenerator[Event | RequestSent | Reply]) -> Reply:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Reply):
                return event
    raise AssertionError


@contextlib.asynccontextmanager
async def open_chat(
    folder: Path, *runs: tuple[Event | Exception, ...], **settings: Any
) -> AsyncIterator[Chat]:
    validated = Settings.model_validate({"models": MODELS} | settings)
    provider = ScriptedProvider(list(runs) or [answer_events("ok")])
    async with AsyncExitStack() as stack:
        store = build_stores(validated, folder, stack).conversations
        service = build_conversations(validated, build_catalog(validated, folder), provider, store)
        now = [1000.0]
        yield Chat(replace(service, now=lambda: now[0]), store, provider, now)


@pytest.mark.feature("F036", "F037", "F038", "F077", "F075", "F246")
async def test_a_conversation_saves_both_sides_and_sends_them_again(tmp_path: Path) -> None:
    async with open_chat(tmp_path, answer_events("one"), answer_events("two")) as chat:
        first = await chat.ask("first?")
        second = await chat.ask("second?", conversation_id=first.conversation_id)

        assert first.conversation_id == second.conversation_id
        assert [message.text for message in chat.last_question.messages] == [
            "first?",
            "one",
            "second?",
        ]
        assert await chat.load_texts(first.conversation_id) == ["first?", "one", "second?", "two"]
        assert (first.cost, first.answer.usage.input_tokens) == (Decimal("0.000015"), 5)


@pytest.mark.feature("F064", "F065", "F067", "F074")
async def test_a_conversation_has_an_unguessable_id_and_a_title(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        long = "word " * 40
        one = await chat.ask(long, system="Pirate", temperature=0.5, max_tokens=77)
        other = await chat.ask("x")

        assert one.conversation_id
        assert len(one.conversation_id) == 32
        assert int(one.conversation_id, 16) >= 0
        assert one.conversation_id != other.conversation_id
        saved = await chat.store.find("me", one.conversation_id)
        assert saved
        assert saved.title.endswith("…")
        assert len(saved.title) <= 60
        assert (saved.system, saved.model, saved.models) == ("Pirate", "a", ("a",))
        assert saved.settings == {"maxTokens": 77, "temperature": 0.5}

        dashed = "-".join([one.conversation_id[:8], *(one.conversation_id[i : i + 4] for i in (8, 12, 16)), one.conversation_id[20:]])  # fmt: skip # noqa: E501
        again = await chat.ask("more", conversation_id=dashed.upper())
        assert again.conversation_id == one.conversation_id
        assert (
            chat.last_question.system,
            chat.last_question.max_tokens,
            chat.last_question.temperature,
        ) == ("Pirate", 77, 0.5)


@pytest.mark.feature("F060", "F062")
async def test_switching_models_continues_on_a_fork_and_keeps_the_original(tmp_path: Path) -> None:
    async with open_chat(
        tmp_path, answer_events("from a"), answer_events("from b", "b"), answer_events("a again")
    ) as chat:
        first = await chat.ask("Hi")
        switched = await chat.ask("You?", conversation_id=first.conversation_id, model_id="b")
        back = await chat.ask("Still?", conversation_id=first.conversation_id)

        assert switched.conversation_id != first.conversation_id
        assert back.conversation_id == first.conversation_id
        assert [m.text for m in chat.provider.asked[1].messages] == ["Hi", "from a", "You?"]
        assert await chat.load_texts(switched.conversation_id) == ["Hi", "from a", "You?", "from b"]
        assert await chat.load_texts(first.conversation_id) == ["Hi", "from a", "Still?", "a again"]
        branch = await chat.store.find("me", switched.conversation_id or "")
        assert branch
        assert (branch.parent, branch.model, branch.models) == (
            first.conversation_id, "b", ("a", "b"),
        )  # fmt: skip


async def test_an_unknown_conversation_id_is_an_error_or_starts_a_new_conversation(
    tmp_path: Path,
) -> None:
    async with open_chat(tmp_path) as chat:
        with pytest.raises(NotFoundError, match="list_conversations"):
            await chat.ask(conversation_id="0" * 32)

        new = await chat.ask(conversation_id="my-session", create_if_missing=True)
        again = await chat.ask(conversation_id="my-session", create_if_missing=True)

        assert (new.conversation_id, again.conversation_id) == ("my-session", "my-session")
        assert new.notice
        assert "new one begins" in new.notice
        assert again.notice is None
        assert len(await chat.load_texts("my-session")) == 4


@pytest.mark.parametrize(
    "options",
    [{"model_id": "nobody"}, {"model_id": "claude-3-5-haiku-20241022"}],
)
async def test_an_unknown_model_is_rejected_before_anything_is_sent_or_saved(
    tmp_path: Path, options: dict[str, str]
) -> None:
    async with open_chat(tmp_path) as chat:
        first = await chat.ask("Hi")

        with pytest.raises(NotFoundError):
            await chat.ask("More", conversation_id=first.conversation_id, **options)

        assert len(chat.provider.asked) == 1
        assert await chat.store.count() == 1


@pytest.mark.parametrize(
    "run",
    [
        (NetworkError("down"),),
        (TextDelta("half"), NetworkError("cut")),
        (TextDelta("half"),),
    ],
    ids=["refused", "cut", "no end"],
)
async def test_a_failed_call_changes_nothing(tmp_path: Path, run: Any) -> None:
    async with open_chat(tmp_path, answer_events("one"), run) as chat:
        first = await chat.ask("Hi")
        before = [each async for each in chat.store.iter_all("me")]

        for options in ({}, {"model_id": "b"}, {"system": "Pirate"}):
            with pytest.raises(JuntoError):
                await chat.ask("More", conversation_id=first.conversation_id, **options)
        with pytest.raises(JuntoError):
            await chat.ask("New")

        assert [each async for each in chat.store.iter_all("me")] == before


async def test_a_cancelled_call_changes_nothing(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        first = await chat.ask("Hi")
        request = ChatRequest(
            message=Message.user("More"), owner="me", conversation_id=first.conversation_id
        )
        async with aclosing(chat.conversations.reply(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break

        assert await chat.load_texts(first.conversation_id) == ["Hi", "ok"]


async def test_the_second_of_two_concurrent_replies_is_saved_on_a_fork(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        first = await chat.ask("Hi")

        # Both have read the conversation before either answer is saved.
        left, right = (chat.stream_reply("left", first), chat.stream_reply("right", first))
        assert isinstance(await anext(left), RequestSent)
        assert isinstance(await anext(right), RequestSent)
        replies = await asyncio.gather(read_reply(left), read_reply(right))

        ids = {reply.conversation_id for reply in replies}
        assert first.conversation_id in ids
        assert len(ids) == 2
        [forked] = [reply for reply in replies if reply.notice]
        assert str(forked.conversation_id) in str(forked.notice)
        texts = {tuple(await chat.load_texts(id_)) for id_ in ids}
        assert texts == {("Hi", "ok", "left", "ok"), ("Hi", "ok", "right", "ok")}


async def test_a_conversation_deleted_during_a_call_is_not_restored(
    tmp_path: Path,
) -> None:
    async with open_chat(tmp_path) as chat:
        first = await chat.ask("Hi")
        events = chat.stream_reply("More", first)
        assert isinstance(await anext(events), RequestSent)
        assert isinstance(await anext(events), TextDelta)
        await chat.store.delete("me", first.conversation_id or "")

        with pytest.raises(NotFoundError, match="deleted while"):
            await anext(events)

        assert await chat.store.count() == 0


async def test_a_fork_cannot_share_more_messages_than_there_are(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        first = await chat.ask("Hi")

        with pytest.raises(InvalidInputError, match="has 2 messages"):
            await chat.conversations.fork("me", first.conversation_id or "", 3)

        branch = await chat.conversations.fork("me", first.conversation_id or "", 2)
        assert branch.length == 2


@pytest.mark.feature("F040")
async def test_with_conversations_disabled_nothing_is_saved(tmp_path: Path) -> None:
    async with open_chat(tmp_path, conversations={"enabled": False}) as chat:
        first = await chat.ask("Hi")

        assert first.conversation_id is None
        assert not (tmp_path / "junto.db").exists()
        with pytest.raises(InvalidInputError, match="switched off"):
            await chat.ask("More", conversation_id="0" * 32)


@pytest.mark.feature("F041", "F085")
async def test_settings_apply_unless_the_caller_overrides_them(tmp_path: Path) -> None:
    answers = {"system": "Be brief.", "max_tokens": 99, "temperature": 0.1}
    async with open_chat(tmp_path, answers=answers) as chat:
        first = await chat.ask("Hi")
        assert (
            chat.last_question.system,
            chat.last_question.max_tokens,
            chat.last_question.temperature,
        ) == (
            "Be brief.",
            99,
            0.1,
        )

        await chat.ask("x", conversation_id=first.conversation_id, system="Now long.", max_tokens=5)
        assert (chat.last_question.system, chat.last_question.max_tokens) == ("Now long.", 5)

        await chat.ask("y", conversation_id=first.conversation_id)
        assert (chat.last_question.system, chat.last_question.max_tokens) == ("Now long.", 99)


@pytest.mark.feature("F068", "F069")
@pytest.mark.parametrize(
    ("policy", "sent"),
    [
        ("last_n", ["3", "ok", "4", "ok", "5"]),
        ("head_tail", ["0", "ok", "1", "ok", "3", "ok", "4", "ok", "5"]),
    ],
)
async def test_the_context_policy_limits_what_is_sent_but_not_what_is_saved(
    tmp_path: Path, policy: str, sent: list[str]
) -> None:
    chosen = {"context": policy, "max_history": 4}
    async with open_chat(tmp_path, conversations=chosen) as chat:
        reply = await chat.ask("0")
        for number in range(1, 6):
            reply = await chat.ask(str(number), conversation_id=reply.conversation_id)

        assert [message.text for message in chat.last_question.messages] == sent
        assert len(await chat.load_texts(reply.conversation_id)) == 12


async def test_by_default_as_much_history_is_sent_as_fits_the_context_window(
    tmp_path: Path,
) -> None:
    async with open_chat(tmp_path, answers={"max_tokens": 1000}) as chat:
        reply = await chat.ask("start", model_id="b")
        for number in range(9):
            reply = await chat.ask(
                f"{number} " + "long words " * 300, conversation_id=reply.conversation_id
            )

        sent = chat.last_question.messages
        assert 3 < len(sent) < 19
        assert sent[0].text.split()[0].isdigit()
        assert sent[-1].text.startswith("8")


async def test_a_turn_with_an_empty_answer_is_saved_but_not_sent_again(tmp_path: Path) -> None:
    refusal = Answer(
        message=Message.assistant(), stop_reason=StopReason.REFUSAL, usage=Usage(), model="a"
    )
    async with open_chat(
        tmp_path, answer_events("one"), (AnswerEvent(refusal),), answer_events("three")
    ) as chat:
        first = await chat.ask("Hi")
        await chat.ask("Something bad", conversation_id=first.conversation_id)
        await chat.ask("Something good", conversation_id=first.conversation_id)

        assert [message.text for message in chat.last_question.messages] == [
            "Hi",
            "one",
            "Something good",
        ]
        assert len(await chat.load_texts(first.conversation_id)) == 6


@pytest.mark.feature("F066", "F098")
async def test_images_are_saved_and_sent_again(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        image = ImagePart("image/png", b"\x89PNG")
        request = ChatRequest(message=Message.user("Look", image), owner="me")
        events = [event async for event in chat.conversations.reply(request)]
        reply = events[-1]
        assert isinstance(reply, Reply)

        await chat.ask("And now?", conversation_id=reply.conversation_id)

        assert chat.last_question.messages[0].parts == (TextPart("Look"), image)


async def test_an_answer_must_fit_its_schema(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    runs = [
        answer_events('```json\n{"n": 1}\n```'),
        answer_events('{"n": "one"}'),
        answer_events("one"),
    ]
    async with open_chat(tmp_path, *runs) as chat:
        good = await chat.ask("x", schema=schema)
        assert good.data == {"n": 1}
        assert chat.last_question.schema == schema

        for problem in ("n: 'one' is not", "it is no JSON"):
            with pytest.raises(ModelError, match=problem):
                await chat.ask("x", schema=schema)
        assert await chat.store.count() == 1


async def test_a_model_without_schema_support_gets_the_schema_in_its_system_prompt(
    tmp_path: Path,
) -> None:
    entry = {"id": "a", "baseUrl": "http://x", "capabilities": {"schema": False}}
    async with open_chat(tmp_path, answer_events("[1]"), models=[entry]) as chat:
        reply = await chat.ask("x", schema={"type": "array"}, system="Be brief.")

        assert reply.data == [1]
        assert chat.last_question.system == (
            "Be brief.\n\nAnswer with JSON and nothing else, which fits this schema: "
            '{"type": "array"}'
        )


@pytest.mark.feature("F070", "F071", "F072", "F079")
async def test_idle_conversations_are_swept_unless_they_were_read_recently(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        recent, idle = await chat.ask("a"), await chat.ask("b")
        chat.now[0] = 5000.0
        await chat.conversations.find("me", recent.conversation_id or "")

        sweeper = Sweeper(chat.store, retention_seconds=1000, now=lambda: 5500.0)

        assert await sweeper.sweep() == 1
        assert await chat.store.find("me", idle.conversation_id or "") is None
        assert await chat.store.count() == 1


async def test_sweeping_continues_after_a_failure(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        sleeps: list[float] = []
        slept_enough = asyncio.Event()

        async def sleep(seconds: float) -> None:
            sleeps.append(seconds)
            if len(sleeps) == 3:
                slept_enough.set()
                await asyncio.Event().wait()

        def broken_clock() -> float:
            raise OSError("no clock")

        async with Sweeper(chat.store, 1, now=broken_clock, sleep=sleep).run_in_background():
            await asyncio.wait_for(slept_enough.wait(), 20)

    assert sleeps == [60.0, 60.0, 60.0]


async def test_exported_conversations_are_imported_unchanged(tmp_path: Path) -> None:
    async with open_chat(
        tmp_path / "one", answer_events("from a"), answer_events("from b", "b")
    ) as chat:
        first = await chat.ask("Hi")
        await chat.ask("You?", conversation_id=first.conversation_id, model_id="b")
        deleted = await chat.ask("gone")
        await chat.conversations.fork("me", deleted.conversation_id or "", 1)
        await chat.store.delete("me", deleted.conversation_id or "")
        lines = [line async for line in export_lines(chat.store, "me")]
        tree = [each async for each in chat.store.iter_all("me")]

    async with open_chat(tmp_path / "two") as other:
        assert await import_from_lines(other.store, "me", lines) == 4
        imported = [each async for each in other.store.iter_all("me")]
        assert imported == tree
        assert [line async for line in export_lines(other.store, "me")] == lines
        with pytest.raises(InvalidInputError, match=r"line 1: .* is there already"):
            await import_from_lines(other.store, "me", lines)
        with pytest.raises(InvalidInputError, match="line 2: it is no conversation"):
            await import_from_lines(other.store, "you", [lines[0], "{}"])


async def test_a_conversation_is_formatted_as_markdown(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        reply = await chat.ask("Hi", system="Be kind.")
        conversation = await chat.conversations.find("me", reply.conversation_id or "")

        text = format_markdown(conversation, await chat.store.load_messages("me", conversation.id))

    assert text.startswith("# Hi\n")
    assert "> Be kind." in text
    assert "## You\n\nHi" in text
    assert "## a\n\nok" in text


VALID_LINE: dict[str, Any] = {
    "id": "c",
    "model": "a",
    "title": "t",
    "system": None,
    "settings": {},
    "models": ["a"],
    "status": "active",
    "parent": None,
    "inherited": 0,
    "created": 1.0,
    "updated": 1.0,
    "messages": [],
}


@pytest.mark.parametrize(
    "invalid",
    [
        {"updated": 1e300},
        {"created": float("nan")},
        {"models": [5]},
        {"models": 3},
        {"inherited": -1},
        {"inherited": 5},
        {"inherited": True},
        {"inherited": 2**70, "parent": "p"},
        {"id": ""},
        {"id": "a\0b"},
        {"title": 3},
        {"system": 3},
        {"settings": []},
        {"status": "odd"},
        {"messages": [{"role": "user"}]},
        {"messages": 4},
        {"extra": 1},
    ],
    ids=str,
)
async def test_an_invalid_export_line_is_rejected(tmp_path: Path, invalid: dict[str, Any]) -> None:
    async with open_chat(tmp_path) as chat:
        with pytest.raises(InvalidInputError, match="line 1: it is no conversation"):
            await import_from_lines(chat.store, "me", [json.dumps(VALID_LINE | invalid)])

        assert await chat.store.count() == 0


async def test_an_imported_conversation_is_not_swept_immediately(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        await import_from_lines(chat.store, "me", [json.dumps(VALID_LINE)])

        assert await Sweeper(chat.store, retention_seconds=30 * 86400).sweep() == 0
        with pytest.raises(InvalidInputError, match="is there already"):
            await import_from_lines(chat.store, "me", [json.dumps(VALID_LINE)])


@pytest.mark.parametrize(("retention", "is_sweeping"), [(0, False), (60, True)])
async def test_the_sweeper_runs_only_if_a_retention_is_set(
    tmp_path: Path, retention: int, is_sweeping: object
) -> None:
    flags = {"conversations.retention": retention}
    with build_app(
        load_settings(flags, environment={}, home_dir=tmp_path), default_level="error"
    ) as app:
        async with app.open():
            names = {str(task.get_coro()) for task in asyncio.all_tasks()}

    assert any("Sweeper" in name for name in names) is is_sweeping
