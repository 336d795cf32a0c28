"""`junto chat` and `junto models`, as a user at a terminal has them."""

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

from tests.clients import SECONDS, clean_environment, junto
from tests.upstream import Reply, Upstream, anthropic_events

REFUSED = Reply(status=401, body={"error": {"message": "invalid x-api-key"}})


def models(upstream: Upstream, **more: Any) -> dict[str, str]:
    entry = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1", **more}
    return {"JUNTO_MODELS": json.dumps([entry])}


@contextlib.asynccontextmanager
async def started(
    home: Path, *words: str, **variables: str
) -> AsyncIterator["asyncio.subprocess.Process"]:
    process = await asyncio.create_subprocess_exec(
        *junto(*words),
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
    return await fed(b"", home, *words, **variables)


async def fed(
    piped: bytes, home: Path, *words: str, **variables: str
) -> tuple[int | None, str, str]:
    async with started(home, *words, **variables) as process:
        out, err = await asyncio.wait_for(process.communicate(piped), SECONDS)
        return process.returncode, out.decode(), err.decode()


@pytest.mark.feature("F089", "F088")
async def test_a_question_is_answered_on_standard_output_and_nothing_else_is(
    tmp_path: Path,
) -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(anthropic_events("Hello", " there")))

        done = await run(tmp_path, "chat", "Good", "morning", **models(upstream))

    assert done == (0, "Hello there\n", "")
    [request] = upstream.requests
    assert request.body["messages"][0]["content"] == [{"type": "text", "text": "Good morning"}]
    assert request.body["max_tokens"] == 4096
    assert "temperature" not in request.body


async def test_options_and_a_pipe_reach_the_model(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(anthropic_events("ok")))
        options = "--system Pirate --max-tokens 2000 --temperature 0.5 --reasoning high -m a"
        taking = {"temperature": True, "reasoning": "budget"}

        await fed(
            b"a log line\n", tmp_path, "chat", *options.split(), "What is this?",
            **models(upstream, capabilities=taking),
        )  # fmt: skip

    body = upstream.requests[0].body
    assert body["messages"][0]["content"][0]["text"] == "What is this?\n\na log line"
    assert (body["system"], body["max_tokens"], body["temperature"]) == ("Pirate", 2000, 0.5)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 1600}


@pytest.mark.feature("F104", "F042")
async def test_words_are_shown_as_they_come_and_ctrl_c_hangs_up(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(anthropic_events("first", "second"), hang_after=4))
        async with started(tmp_path, "chat", "Hi", **models(upstream)) as process:
            assert process.stdin
            process.stdin.close()
            assert process.stdout
            assert await asyncio.wait_for(process.stdout.readexactly(5), SECONDS) == b"first"

            process.send_signal(signal.SIGINT)

            assert await asyncio.wait_for(process.wait(), SECONDS) == 130
        await asyncio.wait_for(upstream.requests[0].hung_up.wait(), SECONDS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chat"], "Say something"),
        (["chat", "-m", "b", "Hi"], "There is no model b."),
        (["chat", "-m", "claude-3-5-haiku-20241022", "Hi"], "Ask claude-haiku-5-5 instead"),
        (["chat", "Hi"], "Check the key that is configured"),
    ],
)
async def test_a_failure_is_a_sentence_and_one(tmp_path: Path, words: list[str], said: str) -> None:
    async with Upstream.started() as upstream:
        upstream.will(REFUSED)

        code, out, err = await run(tmp_path, *words, **models(upstream))

    assert (code, out) == (1, "")
    assert err.startswith("junto: ")
    assert said in err
    assert "k-1" not in err


async def test_an_answer_that_was_cut_off_says_so(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(anthropic_events("half", stop_reason="max_tokens")))

        code, out, err = await run(tmp_path, "chat", "Hi", **models(upstream))

    assert (code, out) == (0, "half\n")
    assert "--max-tokens" in err


async def test_a_person_sees_what_it_waits_for_and_what_it_cost(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        overloaded = Reply(status=529, body={"error": {"message": "busy"}})
        upstream.will(overloaded, Reply(anthropic_events("ok")))
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *junto("chat", "Hi"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=clean_environment(
                tmp_path, **models(upstream, price={"input": 1, "output": 2}), TERM="xterm"
            ),
            cwd=tmp_path,
        )
        os.close(theirs)
        screen = await asyncio.to_thread(_all, ours)
        assert await asyncio.wait_for(process.wait(), SECONDS) == 0

    assert "again in" in screen
    assert "ok" in screen
    assert "a: 10 tokens in, 5 out, $0.000020" in screen


def _all(terminal: int) -> str:
    seen = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
        while piece := os.read(terminal, 4096):
            seen += piece
    os.close(terminal)
    return seen.decode()


async def test_without_a_key_the_embedded_model_answers(tmp_path: Path) -> None:
    code, out, err = await run(
        tmp_path, "chat", "--max-tokens", "8", "--temperature", "0", "Say hello in French."
    )

    assert (code, out.startswith("Bonjour")) == (0, True)
    assert err.splitlines()[0].startswith("No key is set, so the embedded model smollm2-135m")


async def test_models_are_a_table_for_people_and_json_for_programs(tmp_path: Path) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-ant-hidden-0000000000000000"}

    _, table, _ = await run(tmp_path, "models", **key)
    _, text, _ = await run(tmp_path, "models", "--json", "opus", **key)
    missing, _, said = await run(tmp_path, "models", "nothing-like-it", **key)

    head, first, *_ = table.splitlines()
    assert head.split()[:3] == ["MODEL", "PROVIDER", "WINDOW"]
    assert first.startswith("claude-sonnet-5-5 *  anthropic  1,000,000")
    listed = json.loads(text)
    assert [model["id"] for model in listed] == ["claude-opus-5-5", "claude-opus-4-8"]
    assert listed[0]["price"]["output"] > listed[0]["price"]["input"] > 0
    assert "hidden" not in table + text
    assert (missing, "junto doctor" in said) == (1, True)


async def test_refreshing_asks_the_provider_and_a_dead_one_is_a_warning(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(body={"data": [{"id": "claude-brand-new", "lifecycle": "active"}]}))
        known = {"ANTHROPIC_API_KEY": "k-1", "ANTHROPIC_BASE_URL": upstream.url}
        code, table, _ = await run(tmp_path, "models", "--refresh", **known)
    assert code == 0
    assert "claude-brand-new" in table

    code, table, err = await run(tmp_path, "models", "--refresh", **known)
    assert (code, "claude-brand-new" in table) == (0, True)
    assert "warning: anthropic could not be reached" in err


async def test_no_answer_is_paid_for_where_none_can_be_kept(tmp_path: Path) -> None:
    database = tmp_path / "data" / "junto" / "junto.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"this is no database" * 100)
    async with Upstream.started() as upstream:
        code, out, err = await run(tmp_path, "chat", "Hi", **models(upstream))

    assert (code, out) == (1, "")
    assert "The database cannot be used" in err
    assert upstream.requests == []


async def test_an_answer_that_breaks_off_ends_its_line_and_counts_as_failed(tmp_path: Path) -> None:
    async with Upstream.started() as upstream:
        upstream.will(Reply(anthropic_events("half an")[:-3]))
        chosen = models(upstream) | {"JUNTO_ANSWERS_MAX_RETRIES": "0"}
        code, out, err = await run(tmp_path, "chat", "Hi", **chosen)
        _, told, _ = await run(tmp_path, "usage", "--json", **chosen)

    assert (code, out) == (1, "half an\n")
    assert err.startswith("junto: ")
    total = json.loads(told)["total"]
    assert (total["calls"], total["failures"]) == (1, 1)
    assert (total["questions"], total["unanswered"]) == (1, 1)


async def test_who_answers_is_said_only_where_somebody_does(tmp_path: Path) -> None:
    code, _, err = await run(tmp_path, "chat", "-m", "nobody", "Hi")

    assert code == 1
    assert err == "junto: There is no model nobody. `junto models` shows which there are.\n"
