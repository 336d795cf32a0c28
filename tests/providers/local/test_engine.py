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

from junto.app.models import build_catalog
from junto.domain.completions import Event, Question, StatusEvent, StopReason, TextDelta
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
from junto.providers.catalog.from_settings import EMBEDDED_CAPABILITIES
from junto.providers.codecs.openai import OpenAiCodec
from junto.providers.http.client import Endpoint, HttpClient, Timeouts
from junto.providers.http.provider import HttpProvider
from junto.providers.local.engine import Engine, EngineOptions
from junto.providers.local.weights import Weights
from junto.providers.middleware.retry import Retrying
from junto.providers.provider import ask
from junto.settings.schema import Settings
from tests.event_loop import poll_until
from tests.processes import find_engine_pids, read_cpu_seconds, wait_until
from tests.providers.council_factory import open_council_with_usage
from tests.providers.local.conftest import LocalModel

# A system prompt of the caller, since the provider's own asks for one short sentence.
QUESTION = Question(
    model="m",
    messages=(Message.user("Say hello in French."),),
    system="You are a helpful assistant. Explain everything at length.",
    max_tokens=12,
    temperature=0,
)
LONG_QUESTION = replace(
    QUESTION, messages=(Message.user("Count from one to a thousand."),), max_tokens=1000
)

# Another process of the same user: asks its own provider once, then waits until stdin is closed.
CLIENT_PROGRAM = """
import asyncio, sys
from contextlib import AsyncExitStack
from pathlib import Path
from junto.domain.messages import Message
from junto.domain.completions import Question
from junto.providers.catalog.from_settings import EMBEDDED_CAPABILITIES
from junto.providers.local.engine import Engine, EngineOptions
from junto.providers.local.provider import LocalProvider
from junto.providers.local.weights import Weights
from junto.providers.provider import ask
from junto.providers.http.client import Timeouts

def engine(path):
    options = EngineOptions(weights=path, context_tokens=2048)
    return Engine.create(Path(sys.argv[1]), options, idle_seconds=60)

async def main():
    async with AsyncExitStack() as stack:
        weights = Weights(Path(sys.argv[2]))
        model = LocalProvider(weights, engine, EMBEDDED_CAPABILITIES, Timeouts(), stack)
        hello = (Message.user("Hi"),)
        answer = await ask(model, Question(model="m", messages=hello, max_tokens=4))
        print(answer.message.text, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


class ClientProcess:
    def __init__(self, runtime_dir: Path, weights_dir: Path) -> None:
        command = [sys.executable, "-c", CLIENT_PROGRAM, str(runtime_dir), str(weights_dir)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def wait_for_answer(self) -> bool:
        assert self.process.stdout
        return bool(self.process.stdout.readline().strip())

    def exit(self) -> None:
        self.process.communicate(timeout=30)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


async def test_the_engine_streams_an_answer_with_its_usage(local_model: LocalModel) -> None:
    events: list[Event] = [event async for event in local_model.provider.stream(QUESTION)]

    answer = await ask(local_model.provider, QUESTION)
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert events[0] == StatusEvent("starting the embedded engine")
    assert len(deltas) > 3
    assert answer.message.text == "".join(deltas)  # at temperature 0 the answer is repeatable
    assert "Bonjour" in answer.message.text
    assert answer.stop_reason is StopReason.LENGTH
    assert (answer.usage.output_tokens, answer.usage.input_tokens > 10) == (12, True)
    assert "/" not in answer.model  # the path of the weights is not disclosed


async def test_the_same_seed_repeats_an_answer_and_another_does_not(
    local_model: LocalModel,
) -> None:
    warm = replace(QUESTION, temperature=1.5, max_tokens=24)

    first, again, other = [
        (await ask(local_model.provider, replace(warm, seed=seed))).message.text
        for seed in (7, 7, 8)
    ]

    assert first == again != other


async def test_the_answer_conforms_to_the_schema(local_model: LocalModel) -> None:
    properties = {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["name", "age"],
        "additionalProperties": False,
    }

    answer = await ask(local_model.provider, replace(QUESTION, schema=schema, max_tokens=120))

    person = json.loads(answer.message.text)
    assert isinstance(person["name"], str)
    assert isinstance(person["age"], int)


async def test_a_prompt_larger_than_the_context_window_is_refused(local_model: LocalModel) -> None:
    message = Message.user("word " * 3000)

    with pytest.raises(ContextOverflowError):
        await ask(local_model.provider, replace(QUESTION, messages=(message,)))


async def test_an_answer_never_exceeds_the_context_window(small_window_model: LocalModel) -> None:
    message = Message.user("Go on: one two three " * 75)  # about 480 of 512 tokens

    answer = await ask(
        small_window_model.provider, replace(LONG_QUESTION, messages=(message,), max_tokens=1000)
    )

    assert answer.usage.input_tokens + answer.usage.output_tokens <= 512


async def test_disconnecting_during_an_answer_frees_the_engine(local_model: LocalModel) -> None:
    async with aclosing(local_model.provider.stream(LONG_QUESTION)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break

    # The engine handles one question at a time, so this one waits until the first is abandoned.
    answer = await asyncio.wait_for(ask(local_model.provider, QUESTION), 30)
    assert answer.usage.output_tokens == 12


async def test_disconnecting_during_prompt_processing_frees_the_engine(
    local_model: LocalModel,
) -> None:
    await ask(local_model.provider, QUESTION)
    long_prompt = replace(QUESTION, messages=(Message.user("word " * 1900),))
    [pid] = find_engine_pids(local_model.engine.directory)
    cpu_seconds_before = read_cpu_seconds(pid)
    task = asyncio.create_task(ask(local_model.provider, long_prompt))
    await poll_until(lambda: read_cpu_seconds(pid) > cpu_seconds_before + 0.1)

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    answer = await asyncio.wait_for(ask(local_model.provider, QUESTION), 30)
    assert answer.usage.output_tokens == 12


async def test_concurrent_questions_each_get_their_own_answer(local_model: LocalModel) -> None:
    languages = ["French", "Spanish", "German", "Italian"]
    questions = [
        replace(QUESTION, messages=(Message.user(f"Hello in {language}"),))
        for language in languages
    ]

    alone = [(await ask(local_model.provider, question)).message.text for question in questions]
    together = await asyncio.gather(
        *(ask(local_model.provider, question) for question in questions)
    )

    assert [answer.message.text for answer in together] == alone


async def test_a_crash_is_a_retryable_error_and_the_retry_restarts_the_engine(
    local_model: LocalModel,
) -> None:
    stream = local_model.provider.stream(LONG_QUESTION)
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    [pid] = find_engine_pids(local_model.engine.directory)
    os.kill(pid, signal.SIGKILL)

    with pytest.raises(NetworkError) as caught:
        async for _ in stream:
            pass
    assert caught.value.retryable

    answer = await ask(
        Retrying(local_model.provider, max_retries=2, backoff=lambda _: 0.1), QUESTION
    )
    assert answer.usage.output_tokens == 12
    assert wait_until(lambda: len(find_engine_pids(local_model.engine.directory)) == 1)


async def test_the_engine_answers_only_on_its_private_socket_and_with_its_key(
    local_model: LocalModel,
) -> None:
    await ask(local_model.provider, QUESTION)
    directory = local_model.engine.directory

    async with HttpClient.open(socket_path=local_model.engine.socket_path) as client:
        endpoint = Endpoint(
            provider="embedded",
            url="http://embedded/v1/chat/completions",
            headers={"authorization": "Bearer guess"},
        )
        with pytest.raises(AuthenticationError):
            await ask(
                HttpProvider(
                    OpenAiCodec("embedded"), endpoint, EMBEDDED_CAPABILITIES, client, Timeouts()
                ),
                QUESTION,
            )

    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "key").stat().st_mode & 0o777 == 0o600
    [pid] = find_engine_pids(directory)
    assert _find_tcp_listeners(pid) == []


def _find_tcp_listeners(pid: int) -> list[str]:
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        target = str(link.readlink())
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [fields[1] for fields in rows if fields[9] in sockets]


async def test_the_engine_exits_when_idle_and_when_released(
    runtime_dir: Path, weights: Weights
) -> None:
    options = EngineOptions(weights=weights.path, context_tokens=512)
    engine = Engine.create(runtime_dir, options, idle_seconds=0.05)

    async with engine.use():
        assert len(find_engine_pids(engine.directory)) == 1

    await poll_until(lambda: not engine.is_running())
    await poll_until(lambda: find_engine_pids(engine.directory) == [])

    async with engine.use():
        assert len(find_engine_pids(engine.directory)) == 1
    engine.release()
    await poll_until(lambda: find_engine_pids(engine.directory) == [])


async def test_two_processes_share_one_engine_which_outlives_the_one_that_started_it(
    runtime_dir: Path, weights: Weights
) -> None:
    first, second = (
        ClientProcess(runtime_dir, weights.directory),
        ClientProcess(runtime_dir, weights.directory),
    )
    try:
        assert first.wait_for_answer()
        assert second.wait_for_answer()
        [pid] = find_all_engine_pids(runtime_dir)

        first.exit()
        assert find_all_engine_pids(runtime_dir) == [pid]

        second.kill()  # without a clean exit
        assert wait_until(lambda: find_all_engine_pids(runtime_dir) == [])
    finally:
        first.kill()
        second.kill()


def find_all_engine_pids(runtime_dir: Path) -> list[int]:
    return [pid for directory in runtime_dir.iterdir() for pid in find_engine_pids(directory)]


async def test_killing_the_process_that_starts_the_engine_leaves_no_orphan(
    runtime_dir: Path, weights: Weights
) -> None:
    starter = ClientProcess(runtime_dir, weights.directory)
    assert wait_until(lambda: runtime_dir.exists() and find_all_engine_pids(runtime_dir) != [])

    starter.kill()

    assert wait_until(lambda: find_all_engine_pids(runtime_dir) == [])


async def test_a_file_that_is_not_a_model_is_an_error(runtime_dir: Path, tmp_path: Path) -> None:
    not_a_model = tmp_path / "nonsense.gguf"
    not_a_model.write_bytes(b"not a model")
    engine = Engine.create(runtime_dir, EngineOptions(weights=not_a_model), idle_seconds=1)

    with pytest.raises(ExecutionError, match="did not start"):
        async with engine.use():
            pass

    assert find_engine_pids(engine.directory) == []
    engine.release()


def test_a_missing_file_is_an_error_before_anything_starts(runtime_dir: Path) -> None:
    with pytest.raises(InputOutputError, match=r"embedded\.model"):
        Engine.create(runtime_dir, EngineOptions(weights=runtime_dir / "none.gguf"), idle_seconds=1)


def test_a_directory_open_to_other_users_is_refused(runtime_dir: Path, tmp_path: Path) -> None:
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"")
    (runtime_dir / "open").mkdir()
    (runtime_dir / "open").chmod(0o755)
    (runtime_dir / "link").symlink_to(tmp_path)

    for name in ("open", "link"):
        with pytest.raises(SecurityError, match="open to others"):
            Engine.create(runtime_dir / name, EngineOptions(weights=weights), idle_seconds=1)


async def test_the_engine_starts_despite_files_left_by_a_crash(
    runtime_dir: Path, weights: Weights
) -> None:
    engine = Engine.create(
        runtime_dir, EngineOptions(weights=weights.path, context_tokens=512), idle_seconds=1
    )
    for name in ("ready.sock", "loading.sock"):
        with socket.socket(socket.AF_UNIX) as stale_socket:
            stale_socket.bind(str(engine.directory / name))
    (engine.directory / "key").write_text("old")

    async with engine.use() as key:
        assert key != "old"
        assert engine.is_running()
    engine.release()


async def test_the_engine_does_not_import_modules_from_the_working_directory(
    local_model: LocalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets.py").write_text("import os\nos.abort()\n")
    monkeypatch.chdir(tmp_path)

    answer = await ask(local_model.provider, QUESTION)

    assert answer.usage.output_tokens == 12


def test_an_engine_without_users_exits_immediately(runtime_dir: Path, weights: Weights) -> None:
    command = [sys.executable, "-P", "-m", "junto.providers.local.llama_server"]
    for number in range(5):
        directory = runtime_dir / str(number)
        directory.mkdir()
        result = subprocess.run(
            [*command, str(directory), str(weights.path), "512", "1"],
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert result.returncode == 0


async def test_a_schema_too_large_for_the_engine_is_refused(tmp_path: Path) -> None:
    settings = Settings.model_validate({})
    catalog = build_catalog(settings, tmp_path)
    schema = {"enum": [f"value {number}" for number in range(2000)]}
    async with open_council_with_usage(settings, catalog, tmp_path) as (council, _):
        with pytest.raises(InvalidInputError, match="takes no schema of"):
            await ask(council, replace(QUESTION, model="", schema=schema))
