"""Junto as a Python library, with a model API on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

import junto
from junto.api import ChatReply, Junto, StoredMessage, TextDelta
from junto.domain.errors import InvalidInputError, ModelError, NotFoundError
from tests.clients import without_coverage
from tests.event_loop import poll_until
from tests.fake_model_server import FakeModelServer, fake_model_server


@pytest.fixture(scope="module")
def model_server() -> Iterator[FakeModelServer]:
    with fake_model_server() as server:
        yield server


@pytest.fixture
async def app(model_server: FakeModelServer, tmp_path: Path) -> AsyncIterator[Junto]:
    model_url = model_server.url
    price = {"input": 3, "output": 15}
    models = [
        {"id": "a", "provider": "anthropic", "baseUrl": model_url, "apiKey": "k", "price": price},
        {"id": "b", "baseUrl": f"{model_url}/v1", "apiKey": "k"},
    ]
    settings = {
        "models": models,
        "state_directory": str(tmp_path / "state"),
        "answers.max_retries": 0,
        "knowledge.embeddings": "off",
    }
    async with junto.open(settings=settings) as app:
        yield app


async def test_a_chat_is_answered_saved_and_continued(app: Junto) -> None:
    first = await app.chat("one")
    second = await app.chat("two", conversation_id=first.conversation_id)

    assert (first.text, second.text) == ("a heard 1: one", "a heard 3: two")
    assert second.conversation_id == first.conversation_id
    assert first.model == "a"
    assert first.usage.input_tokens == 10
    assert str(first.cost) == "0.000105"
    assert not first.truncated
    history = await app.history(str(first.conversation_id))
    assert all(isinstance(each, StoredMessage) for each in history)
    assert [each.message.text for each in history] == [
        "one", "a heard 1: one", "two", "a heard 3: two",
    ]  # fmt: skip


async def test_text_streams_and_the_reply_comes_last(app: Junto) -> None:
    events = [event async for event in app.stream("long")]

    assert isinstance(events[-1], ChatReply)
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 1
    assert "".join(deltas) == events[-1].text


async def test_leaving_the_stream_cancels_the_request_and_saves_nothing(
    app: Junto, model_server: FakeModelServer
) -> None:
    cancelled_before = len(model_server.hung_up)

    async with aclosing(app.stream("drip")) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break

    await poll_until(lambda: len(model_server.hung_up) == cancelled_before + 1)
    assert await app.conversations() == ()


async def test_an_unknown_option_is_refused(app: Junto) -> None:
    with pytest.raises(TypeError, match="colour"):
        await app.chat("x", colour="red")  # type: ignore[call-arg]


async def test_settings_come_from_a_file_and_the_background_runs(tmp_path: Path) -> None:
    file = tmp_path / "junto.yaml"
    file.write_text(f"state_directory: {tmp_path / 'state'}\nembedded: {{enabled: false}}\n")

    async with junto.open(config=file, background=True) as app:
        assert app.models() == ()
        assert await app.conversations() == ()

    assert (tmp_path / "state" / "junto.db").exists()


async def test_another_model_continues_on_a_fork(app: Junto) -> None:
    first = await app.chat("one")

    second = await app.chat("two", conversation_id=first.conversation_id, model="b")

    assert second.model == "b"
    assert second.conversation_id != first.conversation_id
    assert len(await app.conversations()) == 2


async def test_a_fork_shares_the_beginning(app: Junto) -> None:
    first = await app.chat("one")

    branch = await app.fork(str(first.conversation_id), 1)

    assert [each.message.text for each in await app.history(branch.id)] == ["one"]
    with pytest.raises(InvalidInputError):
        await app.fork(str(first.conversation_id), 99)


async def test_a_failed_chat_raises_and_saves_nothing(app: Junto) -> None:
    with pytest.raises(junto.JuntoError):
        await app.chat("fail 400")

    assert await app.conversations() == ()


async def test_unknown_ids_and_models_are_errors(app: Junto) -> None:
    with pytest.raises(NotFoundError):
        await app.chat("x", conversation_id="0" * 32)
    with pytest.raises((NotFoundError, ModelError)):
        await app.chat("x", model="no-such-model")


async def test_an_answer_fits_its_schema(app: Junto) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    reply = await app.chat('say {"n": 3}', schema=schema)

    assert reply.data == {"n": 3}


async def test_messages_are_found_and_usage_is_counted(app: Junto) -> None:
    await app.chat("say The lighthouse has a new lamp.")

    [hit, *_] = await app.search("lighthouse lamp")
    used = await app.usage()

    assert "lighthouse" in hit.snippet
    assert used.questions == 1
    assert used.output_tokens == 5


def test_the_default_model_comes_first(app: Junto) -> None:
    models = app.models()

    assert models[0].id == "a"
    assert models[0].is_default
    assert "b" in {model.id for model in models}


IMPORT = """
import json, logging, os, signal, sys
before = (dict(os.environ), signal.getsignal(signal.SIGINT), logging.getLogger("junto").handlers[:])
import junto
junto.open, junto.Junto, junto.JuntoError
after = (dict(os.environ), signal.getsignal(signal.SIGINT), logging.getLogger("junto").handlers[:])
assert before == after
print(json.dumps(sorted(sys.modules)))
"""


def test_importing_the_library_changes_nothing_and_is_light() -> None:
    environment = without_coverage(dict(os.environ))  # coverage imports sqlite3 itself
    command = [sys.executable, "-c", IMPORT]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)

    loaded = set(json.loads(done.stdout))
    assert loaded.isdisjoint({"pydantic", "mcp", "aiohttp", "starlette", "yaml", "sqlite3"})


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = junto.no_such_name
