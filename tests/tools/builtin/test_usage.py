"""The tool `usage`, through the protocol, and budgets that outlive their server."""

import asyncio
import json
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from junto.domain.usage import Amount, Heading
from junto.storage.lazily import Lazily
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.usage import SqliteUsage
from tests.clients import SECONDS, child, junto
from tests.processes import until
from tests.server_upstream import ServedUpstream
from tests.tools.test_chat import Client, called, environment, serving, upstream

__all__ = ["upstream"]


def told(client: Client, **arguments: Any) -> dict[str, Any]:
    facts: dict[str, Any] = client("usage", **arguments)["structuredContent"]
    return facts


def by_name(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in facts["lines"]}


def test_calls_tokens_and_cost_are_told_by_model_tool_and_caller(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with serving(tmp_path, upstream) as server:
        client = Client(server)
        for _ in range(3):
            client("chat", message="Hi")
        client("query", prompt="Hi", modelId="b")
        client("chat", message="Hi", conversationId="f" * 32)

        models = by_name(told(client))
        tools = by_name(told(client, by="tool"))
        callers = by_name(told(client, by="caller"))
        report = client("usage", window="today", by="tool")

    assert models["a"] == {
        "name": "a",
        "calls": 3,
        "failures": 0,
        "inputTokens": 30,
        "outputTokens": 15,
        "costUsd": 0.000315,
        "partlyUnpriced": False,
    }
    assert (models["b"]["calls"], models["b"]["partlyUnpriced"]) == (1, True)
    assert (tools["chat"]["calls"], tools["chat"]["failures"]) == (4, 1)
    assert tools["chat"]["costUsd"] == 0.000315
    assert (tools["query"]["calls"], tools["query"]["inputTokens"]) == (1, 10)
    assert list(callers) == ["local"]
    text = report["content"][0]["text"].splitlines()
    assert text[0].startswith("today: 8 calls (1 failed), 40 tokens in, 20 out, $0.000315")
    assert "- chat: 4 calls (1 failed), 30 tokens in, 15 out, $0.000315" in text


def test_a_bad_window_is_refused_in_words(tmp_path: Path, upstream: ServedUpstream) -> None:
    with serving(tmp_path, upstream) as server:
        refused = Client(server)("usage", window="for ever")

    assert refused["isError"]
    assert "24h, 7d or 4w" in refused["content"][0]["text"]


def test_it_can_be_switched_off(tmp_path: Path, upstream: ServedUpstream) -> None:
    with serving(tmp_path, upstream, JUNTO_USAGE_ENABLED="false") as server:
        names = [tool["name"] for tool in server.ask(1, "tools/list")["result"]["tools"]]
        called(server, "current_time")

    assert "usage" not in names
    assert not (tmp_path / "data" / "junto" / "junto.db").exists()


def test_a_budget_is_remembered_by_the_next_server_and_by_one_that_was_killed(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    """Each answer may cost 0.0009 dollars and a little, and costs 0.000105: a third has no room."""
    variables = environment(tmp_path, upstream, JUNTO_BUDGET_LIMIT="0.00105")
    outcomes = []
    for _ in range(3):
        with child(junto("mcp"), variables, tmp_path) as server:
            outcomes.append(called(server, "chat", message="Hi", maxTokens=60))
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()

    with serving(tmp_path, upstream, JUNTO_BUDGET_LIMIT="0.00105") as server:
        [budget] = told(Client(server))["budgets"]

    assert [outcome["isError"] for outcome in outcomes] == [False, False, True]
    assert outcomes[2]["structuredContent"]["code"] == "BudgetExceeded"
    assert budget == {"name": "all", "period": "month", "limitUsd": 0.00105, "leftUsd": 0.00084}


def test_what_was_used_is_written_down_soon_and_the_old_forgotten(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    """Look from another process, while the server runs, which is then killed."""

    def used() -> dict[str, Any]:
        done = subprocess.run(
            junto("usage", "--json", "--by", "tool", "--since", "2000-01-01"),
            env=environment(tmp_path, upstream),
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        lines: list[dict[str, Any]] = json.loads(done.stdout)["by"]["tool"]
        return {line["tool"]: line["calls"] for line in lines}

    asyncio.run(_added(tmp_path, Heading(1_000_000_000, "local", "ancient"), Amount(calls=1)))
    assert used() == {"ancient": 1}

    with child(junto("mcp"), environment(tmp_path, upstream), tmp_path) as server:
        called(server, "current_time")
        until(lambda: used() == {"current_time": 1})
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()

    assert used() == {"current_time": 1}


async def _added(home: Path, heading: Heading, amount: Amount) -> None:
    async with AsyncExitStack() as stack:
        path = home / "data" / "junto" / "junto.db"
        await SqliteUsage(Lazily(lambda: Database.opened(path), stack)).add({heading: amount})
