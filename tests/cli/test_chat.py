"""`junto chat` and `junto models`, run the way a user runs them."""

import asyncio
import contextlib
import json
import os
import pty
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import TIMEOUT_SECONDS, clean_environment, junto_command
from tests.scripted_model_server import ScriptedModelServer, ScriptedReply, anthropic_events

UNAUTHORIZED_REPLY = ScriptedReply(status=401, body={"error": {"message": "invalid x-api-key"}})


def model_environment(upstream: ScriptedModelServer, **fields: Any) -> dict[str, str]:
    entry = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1", **fields}
    return {"JUNTO_MODELS": json.dumps([entry])}


@contextlib.asynccontextmanager
async def junto_process(
    home: Path, *words: str, **variables: str
) -> AsyncIterator["asyncio.subprocess.Process"]:
    process = await asyncio.create_subprocess_exec(
        *junto_command(*words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=clean_environment(home, **variables),
        cwd=home,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def run(home: Path, *words: str, **variables: str) -> tuple[int | None, str, str]:
    return await run_with_input(b"", home, *words, **variables)


async def run_with_input(
    stdin: bytes, home: Path, *words: str, **variables: str
) -> tuple[int | None, str, str]:
    async with junto_process(home, *words, **variables) as process:
        out, err = await asyncio.wait_for(process.communicate(stdin), TIMEOUT_SECONDS)
        return process.returncode, out.decode(), err.decode()


@pytest.mark.feature("F089", "F088")
async def test_chat_prints_only_the_answer_to_stdout(
    tmp_path: Path,
) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(anthropic_events("Hello", " there")))

        result = await run(tmp_path, "chat", "Good", "morning", **model_environment(upstream))

    assert result == (0, "Hello there\n", "")
    [request] = upstream.requests
    assert request.body["messages"][0]["content"] == [{"type": "text", "text": "Good morning"}]
    assert request.body["max_tokens"] == 4096
    assert "temperature" not in request.body


async def test_options_and_piped_input_reach_the_model(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(anthropic_events("ok")))
        options = "--system Pirate --max-tokens 2000 --temperature 0.5 --reasoning high -m a"
        capabilities = {"temperature": True, "reasoning": "budget"}

        await run_with_input(
            b"a log line\n", tmp_path, "chat", *options.split(), "What is this?",
            **model_environment(upstream, capabilities=capabilities),
        )  # fmt: skip

    body = upstream.requests[0].body
    assert body["messages"][0]["content"][0]["text"] == "What is this?\n\na log line"
    assert (body["system"], body["max_tokens"], body["temperature"]) == ("Pirate", 2000, 0.5)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 1600}


@pytest.mark.feature("F104", "F042")
async def test_an_answer_is_streamed_and_ctrl_c_cancels_the_request(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(anthropic_events("first", "second"), hang_after=4))
        async with junto_process(tmp_path, "chat", "Hi", **model_environment(upstream)) as process:
            assert process.stdin
            process.stdin.close()
            assert process.stdout
            assert (
                await asyncio.wait_for(process.stdout.readexactly(5), TIMEOUT_SECONDS) == b"first"
            )

            process.send_signal(signal.SIGINT)

            assert await asyncio.wait_for(process.wait(), TIMEOUT_SECONDS) == 130
        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), TIMEOUT_SECONDS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chat"], "Say something"),
        (["chat", "-m", "b", "Hi"], "There is no model b."),
        (["chat", "-m", "claude-3-5-haiku-20241022", "Hi"], "Ask claude-haiku-5-5 instead"),
        (["chat", "Hi"], "Check the key that is configured"),
    ],
)
async def test_a_failure_prints_a_message_and_exits_with_1(
    tmp_path: Path, words: list[str], message: str
) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(UNAUTHORIZED_REPLY)

        code, out, err = await run(tmp_path, *words, **model_environment(upstream))

    assert (code, out) == (1, "")
    assert err.startswith("junto: ")
    assert message in err
    assert "k-1" not in err


async def test_a_truncated_answer_suggests_max_tokens(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(anthropic_events("half", stop_reason="max_tokens")))

        code, out, err = await run(tmp_path, "chat", "Hi", **model_environment(upstream))

    assert (code, out) == (0, "half\n")
    assert "--max-tokens" in err


async def test_an_interactive_user_sees_retries_and_the_cost(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        overloaded = ScriptedReply(status=529, body={"error": {"message": "busy"}})
        upstream.enqueue(overloaded, ScriptedReply(anthropic_events("ok")))
        controller_fd, terminal_fd = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *junto_command("chat", "Hi"),
            stdin=terminal_fd,
            stdout=terminal_fd,
            stderr=terminal_fd,
            env=clean_environment(
                tmp_path,
                **model_environment(upstream, price={"input": 1, "output": 2}),
                TERM="xterm",
            ),
            cwd=tmp_path,
        )
        os.close(terminal_fd)
        screen = await asyncio.to_thread(_read_all, controller_fd)
        assert await asyncio.wait_for(process.wait(), TIMEOUT_SECONDS) == 0

    assert "again in" in screen
    assert "ok" in screen
    assert "a: 10 tokens in, 5 out, $0.000020" in screen


def _read_all(fd: int) -> str:
    output = b""
    with contextlib.suppress(OSError):  # EIO: the process has closed its end
        while chunk := os.read(fd, 4096):
            output += chunk
    os.close(fd)
    return output.decode()


async def test_without_a_key_the_embedded_model_answers(tmp_path: Path) -> None:
    code, out, err = await run(
        tmp_path, "chat", "--max-tokens", "8", "--temperature", "0", "Say hello in French."
    )

    assert (code, out.startswith("Bonjour")) == (0, True)
    assert err.splitlines()[0].startswith("No key is set, so the embedded model smollm2-135m")


async def test_models_are_printed_as_a_table_or_as_json(tmp_path: Path) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-ant-hidden-0000000000000000"}

    _, table, _ = await run(tmp_path, "models", **key)
    _, text, _ = await run(tmp_path, "models", "--json", "opus", **key)
    code, _, err = await run(tmp_path, "models", "nothing-like-it", **key)

    head, first, *_ = table.splitlines()
    assert head.split()[:3] == ["MODEL", "PROVIDER", "WINDOW"]
    assert first.startswith("claude-sonnet-5-5 *  anthropic  1,000,000")
    listed = json.loads(text)
    assert [model["id"] for model in listed] == ["claude-opus-5-5", "claude-opus-4-8"]
    assert listed[0]["price"]["output"] > listed[0]["price"]["input"] > 0
    assert "hidden" not in table + text
    assert (code, "junto doctor" in err) == (1, True)


async def test_refresh_asks_the_provider_and_warns_if_it_is_unreachable(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(
            ScriptedReply(body={"data": [{"id": "claude-brand-new", "lifecycle": "active"}]})
        )
        variables = {"ANTHROPIC_API_KEY": "k-1", "ANTHROPIC_BASE_URL": upstream.url}
        code, table, _ = await run(tmp_path, "models", "--refresh", **variables)
    assert code == 0
    assert "claude-brand-new" in table

    code, table, err = await run(tmp_path, "models", "--refresh", **variables)
    assert (code, "claude-brand-new" in table) == (0, True)
    assert "warning: anthropic could not be reached" in err


async def test_chat_with_an_unusable_database_sends_no_request(tmp_path: Path) -> None:
    database = tmp_path / "data" / "junto" / "junto.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"this is no database" * 100)
    async with ScriptedModelServer.start() as upstream:
        code, out, err = await run(tmp_path, "chat", "Hi", **model_environment(upstream))

    assert (code, out) == (1, "")
    assert "The database cannot be used" in err
    assert upstream.requests == []


async def test_an_interrupted_answer_ends_its_line_and_counts_as_failed(tmp_path: Path) -> None:
    async with ScriptedModelServer.start() as upstream:
        upstream.enqueue(ScriptedReply(anthropic_events("half an")[:-3]))
        variables = model_environment(upstream) | {"JUNTO_ANSWERS_MAX_RETRIES": "0"}
        code, out, err = await run(tmp_path, "chat", "Hi", **variables)
        _, usage, _ = await run(tmp_path, "usage", "--json", **variables)

    assert (code, out) == (1, "half an\n")
    assert err.startswith("junto: ")
    total = json.loads(usage)["total"]
    assert (total["calls"], total["failures"]) == (1, 1)
    assert (total["questions"], total["unanswered"]) == (1, 1)


async def test_an_unknown_model_prints_no_notice_about_the_embedded_model(tmp_path: Path) -> None:
    code, _, err = await run(tmp_path, "chat", "-m", "nobody", "Hi")

    assert code == 1
    assert err == "junto: There is no model nobody. `junto models` shows which there are.\n"
