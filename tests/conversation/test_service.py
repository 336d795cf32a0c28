"""Conversations with models: what is sent, what is kept, and what is not."""

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

from junto.app import running
from junto.app.memory import conversations_of, stores_of
from junto.app.models import catalog_of
from junto.conversation.archive import exported, imported, markdown
from junto.conversation.service import Asked, Conversations, Reply, Request
from junto.conversation.sweeping import Sweeper
from junto.domain.conversations import ConversationStore
from junto.domain.errors import (
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
)
from junto.domain.messages import Image, Message, Text
from junto.domain.questions import (
    Answer,
    Event,
    Finished,
    Question,
    StopReason,
    TextDelta,
    Usage,
)
from junto.settings import load
from junto.settings.tree import Settings
from tests.providers.scripted import Scripted, finished

PRICE = {"input": 1, "output": 2}
MODELS = [
    {"id": "a", "provider": "anthropic", "baseUrl": "http://x", "price": PRICE},
    {"id": "b", "baseUrl": "http://x", "contextWindow": 8192},
]


def says(text: str, model: str = "a") -> tuple[Event, ...]:
    answer = finished(text).answer
    return (TextDelta(text), replace(finished(text), answer=replace(answer, model=model)))


@dataclass
class Home:
    conversations: Conversations
    store: ConversationStore
    scripted: Scripted
    now: list[float] = field(default_factory=lambda: [1000.0])

    async def ask(self, text: str = "Hi", **wishes: Any) -> Reply:
        request = Request(message=Message.user(text), owner=wishes.pop("owner", "me"), **wishes)
        return await last(self.conversations.reply(request))

    def going(self, text: str, on: Reply) -> AsyncGenerator[Event | Asked | Reply]:
        request = Request(
            message=Message.user(text), owner="me", conversation_id=on.conversation_id
        )
        return self.conversations.reply(request)

    @property
    def asked(self) -> Question:
        return self.scripted.asked[-1]

    async def said(self, id_: str | None) -> list[str]:
        assert id_
        return [each.message.text for each in await self.store.said("me", id_)]


async def last(events: AsyncGenerator[Event | Asked | Reply]) -> Reply:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Reply):
                return event
    raise AssertionError


@contextlib.asynccontextmanager
async def home(
    folder: Path, *runs: tuple[Event | Exception, ...], **settings: Any
) -> AsyncIterator[Home]:
    tree = Settings.model_validate({"models": MODELS} | settings)
    scripted = Scripted(list(runs) or [says("ok")])
    async with AsyncExitStack() as stack:
        store = stores_of(tree, folder, stack).conversations
        service = conversations_of(tree, catalog_of(tree, folder), scripted, store)
        now = [1000.0]
        yield Home(replace(service, now=lambda: now[0]), store, scripted, now)


@pytest.mark.feature("F036", "F037", "F038", "F077", "F075", "F246")
async def test_a_conversation_remembers_both_sides_and_sends_them_again(tmp_path: Path) -> None:
    async with home(tmp_path, says("one"), says("two")) as it:
        first = await it.ask("first?")
        second = await it.ask("second?", conversation_id=first.conversation_id)

        assert first.conversation_id == second.conversation_id
        assert [message.text for message in it.asked.messages] == ["first?", "one", "second?"]
        assert await it.said(first.conversation_id) == ["first?", "one", "second?", "two"]
        assert (first.cost, first.answer.usage.input_tokens) == (Decimal("0.000015"), 5)


@pytest.mark.feature("F064", "F065", "F067", "F074")
async def test_a_conversation_has_an_id_that_nobody_guesses_and_a_title(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        long = "word " * 40
        one = await it.ask(long, system="Pirate", temperature=0.5, max_tokens=77)
        other = await it.ask("x")

        assert one.conversation_id
        assert len(one.conversation_id) == 32
        assert int(one.conversation_id, 16) >= 0
        assert one.conversation_id != other.conversation_id
        kept = await it.store.find("me", one.conversation_id)
        assert kept
        assert kept.title.endswith("…")
        assert len(kept.title) <= 60
        assert (kept.system, kept.model, kept.models) == ("Pirate", "a", ("a",))
        assert kept.settings == {"maxTokens": 77, "temperature": 0.5}

        dashed = "-".join([one.conversation_id[:8], *(one.conversation_id[i : i + 4] for i in (8, 12, 16)), one.conversation_id[20:]])  # fmt: skip # noqa: E501
        again = await it.ask("more", conversation_id=dashed.upper())
        assert again.conversation_id == one.conversation_id
        assert (it.asked.system, it.asked.max_tokens, it.asked.temperature) == ("Pirate", 77, 0.5)


@pytest.mark.feature("F060", "F062")
async def test_another_model_answers_on_a_branch_and_the_trunk_stays(tmp_path: Path) -> None:
    async with home(tmp_path, says("from a"), says("from b", "b"), says("a again")) as it:
        first = await it.ask("Hi")
        switched = await it.ask("You?", conversation_id=first.conversation_id, model_id="b")
        back = await it.ask("Still?", conversation_id=first.conversation_id)

        assert switched.conversation_id != first.conversation_id
        assert back.conversation_id == first.conversation_id
        assert [m.text for m in it.scripted.asked[1].messages] == ["Hi", "from a", "You?"]
        assert await it.said(switched.conversation_id) == ["Hi", "from a", "You?", "from b"]
        assert await it.said(first.conversation_id) == ["Hi", "from a", "Still?", "a again"]
        branch = await it.store.find("me", switched.conversation_id or "")
        assert branch
        assert (branch.parent, branch.model, branch.models) == (
            first.conversation_id, "b", ("a", "b"),
        )  # fmt: skip


async def test_an_unknown_conversation_is_an_error_or_a_new_one_under_its_id(
    tmp_path: Path,
) -> None:
    async with home(tmp_path) as it:
        with pytest.raises(NotFoundError, match="list_conversations"):
            await it.ask(conversation_id="0" * 32)

        new = await it.ask(conversation_id="my-session", new_if_unknown=True)
        again = await it.ask(conversation_id="my-session", new_if_unknown=True)

        assert (new.conversation_id, again.conversation_id) == ("my-session", "my-session")
        assert new.notice
        assert "new one begins" in new.notice
        assert again.notice is None
        assert len(await it.said("my-session")) == 4


@pytest.mark.parametrize(
    "wishes",
    [{"model_id": "nobody"}, {"model_id": "claude-3-5-haiku-20241022"}],
)
async def test_the_model_is_checked_before_anything_else_happens(
    tmp_path: Path, wishes: dict[str, str]
) -> None:
    async with home(tmp_path) as it:
        first = await it.ask("Hi")

        with pytest.raises(NotFoundError):
            await it.ask("More", conversation_id=first.conversation_id, **wishes)

        assert len(it.scripted.asked) == 1
        assert await it.store.count() == 1


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
    async with home(tmp_path, says("one"), run) as it:
        first = await it.ask("Hi")
        before = [each async for each in it.store.everything("me")]

        for wishes in ({}, {"model_id": "b"}, {"system": "Pirate"}):
            with pytest.raises(JuntoError):
                await it.ask("More", conversation_id=first.conversation_id, **wishes)
        with pytest.raises(JuntoError):
            await it.ask("New")

        assert [each async for each in it.store.everything("me")] == before


async def test_a_cancelled_call_changes_nothing(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        first = await it.ask("Hi")
        request = Request(
            message=Message.user("More"), owner="me", conversation_id=first.conversation_id
        )
        async with aclosing(it.conversations.reply(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break

        assert await it.said(first.conversation_id) == ["Hi", "ok"]


async def test_whoever_comes_second_is_kept_on_a_branch(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        first = await it.ask("Hi")

        # Both have read the conversation before either answer is kept.
        left, right = (it.going("left", first), it.going("right", first))
        assert isinstance(await anext(left), Asked)
        assert isinstance(await anext(right), Asked)
        both = await asyncio.gather(last(left), last(right))

        ids = {reply.conversation_id for reply in both}
        assert first.conversation_id in ids
        assert len(ids) == 2
        [beside] = [reply for reply in both if reply.notice]
        assert str(beside.conversation_id) in str(beside.notice)
        texts = {tuple(await it.said(id_)) for id_ in ids}
        assert texts == {("Hi", "ok", "left", "ok"), ("Hi", "ok", "right", "ok")}


async def test_a_conversation_that_is_deleted_meanwhile_is_not_brought_back(
    tmp_path: Path,
) -> None:
    async with home(tmp_path) as it:
        first = await it.ask("Hi")
        events = it.going("More", first)
        assert isinstance(await anext(events), Asked)
        assert isinstance(await anext(events), TextDelta)
        await it.store.delete("me", first.conversation_id or "")

        with pytest.raises(NotFoundError, match="deleted while"):
            await anext(events)

        assert await it.store.count() == 0


async def test_a_branch_cannot_share_more_than_was_said(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        first = await it.ask("Hi")

        with pytest.raises(InvalidInputError, match="has 2 messages"):
            await it.conversations.fork("me", first.conversation_id or "", 3)

        branch = await it.conversations.fork("me", first.conversation_id or "", 2)
        assert branch.length == 2


@pytest.mark.feature("F040")
async def test_without_conversations_every_question_stands_alone(tmp_path: Path) -> None:
    async with home(tmp_path, conversations={"enabled": False}) as it:
        first = await it.ask("Hi")

        assert first.conversation_id is None
        assert not (tmp_path / "junto.db").exists()
        with pytest.raises(InvalidInputError, match="switched off"):
            await it.ask("More", conversation_id="0" * 32)


@pytest.mark.feature("F041", "F085")
async def test_the_settings_speak_where_the_caller_does_not(tmp_path: Path) -> None:
    answers = {"system": "Be brief.", "max_tokens": 99, "temperature": 0.1}
    async with home(tmp_path, answers=answers) as it:
        first = await it.ask("Hi")
        assert (it.asked.system, it.asked.max_tokens, it.asked.temperature) == (
            "Be brief.",
            99,
            0.1,
        )

        await it.ask("x", conversation_id=first.conversation_id, system="Now long.", max_tokens=5)
        assert (it.asked.system, it.asked.max_tokens) == ("Now long.", 5)

        await it.ask("y", conversation_id=first.conversation_id)
        assert (it.asked.system, it.asked.max_tokens) == ("Now long.", 99)


@pytest.mark.feature("F068", "F069")
@pytest.mark.parametrize(
    ("policy", "sent"),
    [
        ("last_n", ["3", "ok", "4", "ok", "5"]),
        ("head_tail", ["0", "ok", "1", "ok", "3", "ok", "4", "ok", "5"]),
    ],
)
async def test_the_policy_says_how_much_is_sent_and_all_of_it_is_kept(
    tmp_path: Path, policy: str, sent: list[str]
) -> None:
    chosen = {"context": policy, "max_history": 4}
    async with home(tmp_path, conversations=chosen) as it:
        reply = await it.ask("0")
        for number in range(1, 6):
            reply = await it.ask(str(number), conversation_id=reply.conversation_id)

        assert [message.text for message in it.asked.messages] == sent
        assert len(await it.said(reply.conversation_id)) == 12


async def test_by_default_as_much_is_sent_as_fits_the_window(tmp_path: Path) -> None:
    async with home(tmp_path, answers={"max_tokens": 1000}) as it:
        reply = await it.ask("start", model_id="b")
        for number in range(9):
            reply = await it.ask(
                f"{number} " + "long words " * 300, conversation_id=reply.conversation_id
            )

        sent = it.asked.messages
        assert 3 < len(sent) < 19
        assert sent[0].text.split()[0].isdigit()
        assert sent[-1].text.startswith("8")


async def test_a_turn_without_words_is_kept_and_not_sent_again(tmp_path: Path) -> None:
    silent = Answer(message=Message.assistant(), stop=StopReason.REFUSAL, usage=Usage(), model="a")
    async with home(tmp_path, says("one"), (Finished(silent),), says("three")) as it:
        first = await it.ask("Hi")
        await it.ask("Something bad", conversation_id=first.conversation_id)
        await it.ask("Something good", conversation_id=first.conversation_id)

        assert [message.text for message in it.asked.messages] == ["Hi", "one", "Something good"]
        assert len(await it.said(first.conversation_id)) == 6


@pytest.mark.feature("F066", "F098")
async def test_pictures_are_kept_and_sent_again(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        picture = Image("image/png", b"\x89PNG")
        request = Request(message=Message.user("Look", picture), owner="me")
        events = [event async for event in it.conversations.reply(request)]
        reply = events[-1]
        assert isinstance(reply, Reply)

        await it.ask("And now?", conversation_id=reply.conversation_id)

        assert it.asked.messages[0].parts == (Text("Look"), picture)


async def test_an_answer_must_fit_its_schema(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    runs = [says('```json\n{"n": 1}\n```'), says('{"n": "one"}'), says("one")]
    async with home(tmp_path, *runs) as it:
        good = await it.ask("x", schema=schema)
        assert good.data == {"n": 1}
        assert it.asked.schema == schema

        for problem in ("n: 'one' is not", "it is no JSON"):
            with pytest.raises(ModelError, match=problem):
                await it.ask("x", schema=schema)
        assert await it.store.count() == 1


async def test_a_model_that_cannot_be_held_to_a_schema_is_asked_to_keep_to_it(
    tmp_path: Path,
) -> None:
    entry = {"id": "a", "baseUrl": "http://x", "capabilities": {"schema": False}}
    async with home(tmp_path, says("[1]"), models=[entry]) as it:
        reply = await it.ask("x", schema={"type": "array"}, system="Be brief.")

        assert reply.data == [1]
        assert it.asked.system == (
            "Be brief.\n\nAnswer with JSON and nothing else, which fits this schema: "
            '{"type": "array"}'
        )


@pytest.mark.feature("F070", "F071", "F072", "F079")
async def test_idle_conversations_are_swept_and_looking_counts(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        looked_at, forgotten = await it.ask("a"), await it.ask("b")
        it.now[0] = 5000.0
        await it.conversations.find("me", looked_at.conversation_id or "")

        sweeper = Sweeper(it.store, retention=1000, now=lambda: 5500.0)

        assert await sweeper.once() == 1
        assert await it.store.find("me", forgotten.conversation_id or "") is None
        assert await it.store.count() == 1


async def test_the_sweep_goes_on_after_a_failure(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        naps: list[float] = []
        rested = asyncio.Event()

        async def nap(seconds: float) -> None:
            naps.append(seconds)
            if len(naps) == 3:
                rested.set()
                await asyncio.Event().wait()

        def broken() -> float:
            raise OSError("no clock")

        async with Sweeper(it.store, 1, now=broken, sleep=nap).running():
            await asyncio.wait_for(rested.wait(), 20)

    assert naps == [60.0, 60.0, 60.0]


async def test_what_is_exported_is_read_back_as_the_same_tree(tmp_path: Path) -> None:
    async with home(tmp_path / "one", says("from a"), says("from b", "b")) as it:
        first = await it.ask("Hi")
        await it.ask("You?", conversation_id=first.conversation_id, model_id="b")
        gone = await it.ask("gone")
        await it.conversations.fork("me", gone.conversation_id or "", 1)
        await it.store.delete("me", gone.conversation_id or "")
        lines = [line async for line in exported(it.store, "me")]
        tree = [each async for each in it.store.everything("me")]

    async with home(tmp_path / "two") as other:
        assert await imported(other.store, "me", lines) == 4
        again = [each async for each in other.store.everything("me")]
        assert again == tree
        assert [line async for line in exported(other.store, "me")] == lines
        with pytest.raises(InvalidInputError, match=r"line 1: .* is there already"):
            await imported(other.store, "me", lines)
        with pytest.raises(InvalidInputError, match="line 2: it is no conversation"):
            await imported(other.store, "you", [lines[0], "{}"])


async def test_a_conversation_can_be_read_by_people(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        reply = await it.ask("Hi", system="Be kind.")
        kept = await it.conversations.find("me", reply.conversation_id or "")

        text = markdown(kept, await it.store.said("me", kept.id))

    assert text.startswith("# Hi\n")
    assert "> Be kind." in text
    assert "## You\n\nHi" in text
    assert "## a\n\nok" in text


GOOD: dict[str, Any] = {
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
    "wrong",
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
async def test_a_line_that_was_never_exported_is_refused(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async with home(tmp_path) as it:
        with pytest.raises(InvalidInputError, match="line 1: it is no conversation"):
            await imported(it.store, "me", [json.dumps(GOOD | wrong)])

        assert await it.store.count() == 0


async def test_what_is_brought_back_is_not_swept_at_once(tmp_path: Path) -> None:
    async with home(tmp_path) as it:
        await imported(it.store, "me", [json.dumps(GOOD)])

        assert await Sweeper(it.store, retention=30 * 86400).once() == 0
        with pytest.raises(InvalidInputError, match="is there already"):
            await imported(it.store, "me", [json.dumps(GOOD)])


@pytest.mark.parametrize(("retention", "sweeping"), [(0, False), (60, True)])
async def test_a_retention_of_nothing_keeps_everything(
    tmp_path: Path, retention: int, sweeping: object
) -> None:
    flags = {"conversations.retention": retention}
    with running(load(flags, environment={}, home=tmp_path), default_level="error") as junto:
        async with junto.open():
            names = {str(task.get_coro()) for task in asyncio.all_tasks()}

    assert any("Sweeper" in name for name in names) is sweeping
