"""The real engine with the real model, in a real process."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from junto.app.models import catalog_of
from junto.domain.errors import (
    AuthenticationError,
    ContextOverflowError,
    ExecutionError,
    InputOutputError,
    InvalidInputError,
    NetworkError,
    SecurityError,
)
from junto.domain.messages import Message
from junto.domain.questions import Event, Question, StopReason, TextDelta, Waiting
from junto.providers.catalog.traits import SMALL
from junto.providers.dialects.openai import OpenAiCodec
from junto.providers.embedded.engine import Engine, EngineOptions
from junto.providers.embedded.weights import Weights
from junto.providers.pipeline.retry import Retrying
from junto.providers.provider import ask
from junto.providers.wiring.adapter import Adapter
from junto.providers.wiring.wire import Endpoint, Patience, Wire
from junto.settings.tree import Settings
from tests.processes import engines, until
from tests.providers.councils import counted
from tests.providers.embedded.conftest import Bench

QUESTION = Question(
    model="m", messages=(Message.user("Say hello in French."),), max_tokens=12, temperature=0
)
LONG = replace(QUESTION, messages=(Message.user("Count from one to a thousand."),), max_tokens=1000)

# Another process of the same user, with a model of its own that it asks once; then it waits.
USER = """
import asyncio, sys
from contextlib import AsyncExitStack
from pathlib import Path
from junto.domain.messages import Message
from junto.domain.questions import Question
from junto.providers.catalog.traits import SMALL
from junto.providers.embedded.engine import Engine, EngineOptions
from junto.providers.embedded.provider import Embedded
from junto.providers.embedded.weights import Weights
from junto.providers.provider import ask
from junto.providers.wiring.wire import Patience

def engine(path):
    return Engine.beneath(Path(sys.argv[1]), EngineOptions(weights=path, context=2048), idle=60)

async def main():
    async with AsyncExitStack() as stack:
        model = Embedded(Weights(Path(sys.argv[2])), engine, SMALL, Patience(), stack)
        hello = (Message.user("Hi"),)
        answer = await ask(model, Question(model="m", messages=hello, max_tokens=4))
        print(answer.message.text, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


class User:
    def __init__(self, runtime: Path, folder: Path) -> None:
        command = [sys.executable, "-c", USER, str(runtime), str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answered(self) -> bool:
        assert self.process.stdout
        return bool(self.process.stdout.readline().strip())

    def leave(self) -> None:
        self.process.communicate(timeout=30)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


async def test_it_answers_in_pieces_with_its_usage(bench: Bench) -> None:
    events: list[Event] = [event async for event in bench.model.stream(QUESTION)]

    answer = await ask(bench.model, QUESTION)
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert events[0] == Waiting("starting the embedded engine")
    assert len(pieces) > 3
    assert answer.message.text == "".join(pieces)  # cold as it is, it says the same again
    assert "Bonjour" in answer.message.text
    assert answer.stop is StopReason.LENGTH
    assert (answer.usage.output_tokens, answer.usage.input_tokens > 10) == (12, True)
    assert "/" not in answer.model  # where the weights lie is nobody's business


async def test_a_seed_repeats_and_another_does_not(bench: Bench) -> None:
    warm = replace(QUESTION, temperature=1.5, max_tokens=24)

    first, again, other = [
        (await ask(bench.model, replace(warm, seed=seed))).message.text for seed in (7, 7, 8)
    ]

    assert first == again != other


async def test_it_keeps_to_a_schema(bench: Bench) -> None:
    properties = {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["name", "age"],
        "additionalProperties": False,
    }

    answer = await ask(bench.model, replace(QUESTION, schema=schema, max_tokens=120))

    person = json.loads(answer.message.text)
    assert isinstance(person["name"], str)
    assert isinstance(person["age"], int)


async def test_more_than_its_window_is_refused(bench: Bench) -> None:
    words = Message.user("word " * 3000)

    with pytest.raises(ContextOverflowError):
        await ask(bench.model, replace(QUESTION, messages=(words,)))


async def test_an_answer_never_outgrows_the_window(narrow: Bench) -> None:
    words = Message.user("Go on: one two three " * 75)  # about 480 of 512 tokens

    answer = await ask(narrow.model, replace(LONG, messages=(words,), max_tokens=1000))

    assert answer.usage.input_tokens + answer.usage.output_tokens <= 512


async def test_hanging_up_in_the_middle_of_an_answer_frees_the_engine(bench: Bench) -> None:
    async with aclosing(bench.model.stream(LONG)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break

    # It works on one question at a time, so this one had to wait for the first to be given up.
    answer = await asyncio.wait_for(ask(bench.model, QUESTION), 30)
    assert answer.usage.output_tokens == 12


async def test_hanging_up_during_the_prompt_frees_the_engine(bench: Bench) -> None:
    await ask(bench.model, QUESTION)
    long_prompt = replace(QUESTION, messages=(Message.user("word " * 1900),))
    reading = asyncio.create_task(ask(bench.model, long_prompt))
    await asyncio.sleep(0.2)

    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)

    answer = await asyncio.wait_for(ask(bench.model, QUESTION), 30)
    assert answer.usage.output_tokens == 12


async def test_questions_at_once_each_get_their_own_answer(bench: Bench) -> None:
    names = ["French", "Spanish", "German", "Italian"]
    asked = [replace(QUESTION, messages=(Message.user(f"Hello in {name}"),)) for name in names]

    alone = [(await ask(bench.model, question)).message.text for question in asked]
    together = await asyncio.gather(*(ask(bench.model, question) for question in asked))

    assert [answer.message.text for answer in together] == alone


async def test_a_crash_is_an_error_that_passes_and_the_next_try_starts_it_anew(
    bench: Bench,
) -> None:
    stream = bench.model.stream(LONG)
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    [pid] = engines(bench.engine.folder)
    os.kill(pid, signal.SIGKILL)

    with pytest.raises(NetworkError) as failed:
        async for _ in stream:
            pass
    assert failed.value.retryable

    answer = await ask(Retrying(bench.model, retries=2, wait=lambda _: 0.1), QUESTION)
    assert answer.usage.output_tokens == 12
    assert until(lambda: len(engines(bench.engine.folder)) == 1)


async def test_nobody_without_the_key_gets_an_answer(bench: Bench) -> None:
    await ask(bench.model, QUESTION)
    folder = bench.engine.folder

    async with Wire.opened(socket=bench.engine.address) as wire:
        endpoint = Endpoint(
            provider="embedded",
            url="http://embedded/v1/chat/completions",
            headers={"authorization": "Bearer guess"},
        )
        with pytest.raises(AuthenticationError):
            await ask(Adapter(OpenAiCodec("embedded"), endpoint, SMALL, wire, Patience()), QUESTION)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    [pid] = engines(folder)
    assert _listening_on_tcp(pid) == []


def _listening_on_tcp(pid: int) -> list[str]:
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        target = str(link.readlink())
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [words[1] for words in lines if words[9] in sockets]


async def test_it_is_gone_with_its_user_and_leaves_when_idle(
    runtime: Path, weights: Weights
) -> None:
    options = EngineOptions(weights=weights.path, context=512)
    engine = Engine.beneath(runtime, options, idle=0.05)

    async with engine.in_use():
        assert len(engines(engine.folder)) == 1

    await asyncio.to_thread(until, lambda: not engine.answers())
    assert await asyncio.to_thread(until, lambda: engines(engine.folder) == [])

    async with engine.in_use():
        assert len(engines(engine.folder)) == 1
    engine.leave()
    assert await asyncio.to_thread(until, lambda: engines(engine.folder) == [])


async def test_two_processes_share_one_engine_which_outlives_the_one_that_started_it(
    runtime: Path, weights: Weights
) -> None:
    first, second = User(runtime, weights.folder), User(runtime, weights.folder)
    try:
        assert first.answered()
        assert second.answered()
        [pid] = engines_beneath(runtime)

        first.leave()
        assert engines_beneath(runtime) == [pid]

        second.kill()  # no time to say goodbye
        assert until(lambda: engines_beneath(runtime) == [])
    finally:
        first.kill()
        second.kill()


def engines_beneath(runtime: Path) -> list[int]:
    return [pid for folder in runtime.iterdir() for pid in engines(folder)]


async def test_killing_whoever_is_starting_it_leaves_no_orphan(
    runtime: Path, weights: Weights
) -> None:
    starter = User(runtime, weights.folder)
    assert until(lambda: runtime.exists() and engines_beneath(runtime) != [])

    starter.kill()

    assert until(lambda: engines_beneath(runtime) == [])


async def test_a_file_that_is_no_model_is_an_error_with_its_reason(
    runtime: Path, tmp_path: Path
) -> None:
    nonsense = tmp_path / "nonsense.gguf"
    nonsense.write_bytes(b"not a model")
    engine = Engine.beneath(runtime, EngineOptions(weights=nonsense), idle=1)

    with pytest.raises(ExecutionError, match="did not start"):
        async with engine.in_use():
            pass

    assert engines(engine.folder) == []
    engine.leave()


def test_a_missing_file_is_an_error_before_anything_starts(runtime: Path) -> None:
    with pytest.raises(InputOutputError, match=r"embedded\.model"):
        Engine.beneath(runtime, EngineOptions(weights=runtime / "none.gguf"), idle=1)


def test_a_folder_that_others_may_enter_is_not_used(runtime: Path, tmp_path: Path) -> None:
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"")
    (runtime / "open").mkdir()
    (runtime / "open").chmod(0o755)
    (runtime / "link").symlink_to(tmp_path)

    for name in ("open", "link"):
        with pytest.raises(SecurityError, match="open to others"):
            Engine.beneath(runtime / name, EngineOptions(weights=weights), idle=1)


async def test_a_socket_left_behind_by_a_crash_is_no_obstacle(
    runtime: Path, weights: Weights
) -> None:
    engine = Engine.beneath(runtime, EngineOptions(weights=weights.path, context=512), idle=1)
    for name in ("ready.sock", "loading.sock"):
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(str(engine.folder / name))
    (engine.folder / "key").write_text("old")

    async with engine.in_use() as key:
        assert key != "old"
        assert engine.answers()
    engine.leave()


async def test_a_module_in_the_working_directory_is_not_taken_for_one_of_ours(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets.py").write_text("import os\nos.abort()\n")
    monkeypatch.chdir(tmp_path)

    answer = await ask(bench.model, QUESTION)

    assert answer.usage.output_tokens == 12


def test_an_engine_that_nobody_wants_any_more_ends_at_once(runtime: Path, weights: Weights) -> None:
    command = [sys.executable, "-P", "-m", "junto.providers.embedded.child"]
    for number in range(5):
        folder = runtime / str(number)
        folder.mkdir()
        done = subprocess.run(
            [*command, str(folder), str(weights.path), "512", "1"],
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0


async def test_a_schema_that_would_keep_the_engine_busy_is_refused(tmp_path: Path) -> None:
    settings = Settings.model_validate({})
    catalog = catalog_of(settings, tmp_path)
    schema = {"enum": [f"value {number}" for number in range(2000)]}
    async with counted(settings, catalog, tmp_path) as (council, _):
        with pytest.raises(InvalidInputError, match="takes no schema of"):
            await ask(council, replace(QUESTION, model="", schema=schema))
