"""The tool `usage` over MCP, and budgets that outlive their server."""

import asyncio
import json
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from junto.domain.usage import UsageKey, UsageTotals
from junto.runtime.lazy import Lazy
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.usage import SqliteUsage
from tests.clients import TIMEOUT_SECONDS, junto_command, stdio_server
from tests.fake_model_server import FakeModelServer
from tests.processes import wait_until
from tests.tools.builtin.test_chat import Client, called, environment, serving, upstream

__all__ = ["upstream"]


def get_usage(client: Client, **arguments: Any) -> dict[str, Any]:
    facts: dict[str, Any] = client("usage", **arguments)["structuredContent"]
    return facts


def lines_by_name(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in facts["lines"]}


def test_calls_tokens_and_cost_are_reported_by_model_tool_and_caller(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with serving(tmp_path, upstream) as server:
        client = Client(server)
        for _ in range(3):
            client("chat", message="Hi")
        client("query", prompt="Hi", modelId="b")
        client("chat", message="Hi", conversationId="f" * 32)

        models = lines_by_name(get_usage(client))
        tools = lines_by_name(get_usage(client, by="tool"))
        callers = lines_by_name(get_usage(client, by="caller"))
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


def test_an_invalid_window_is_refused_with_valid_examples(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with serving(tmp_path, upstream) as server:
        refused = Client(server)("usage", window="for ever")

    assert refused["isError"]
    assert "24h, 7d or 4w" in refused["content"][0]["text"]


def test_usage_can_be_disabled(tmp_path: Path, upstream: FakeModelServer) -> None:
    with serving(tmp_path, upstream, JUNTO_USAGE_ENABLED="false") as server:
        names = [tool["name"] for tool in server.ask(1, "tools/list")["result"]["tools"]]
        called(server, "current_time")

    assert "usage" not in names
    assert not (tmp_path / "data" / "junto" / "junto.db").exists()


def test_a_budget_persists_across_servers_that_are_killed(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    """An answer may cost a little over $0.0009, and costs $0.000105: a third exceeds the budget."""
    variables = environment(tmp_path, upstream, JUNTO_BUDGET_LIMIT="0.00105")
    outcomes = []
    for _ in range(3):
        with stdio_server(junto_command("mcp"), variables, tmp_path) as server:
            outcomes.append(called(server, "chat", message="Hi", maxTokens=60))
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()

    with serving(tmp_path, upstream, JUNTO_BUDGET_LIMIT="0.00105") as server:
        [budget] = get_usage(Client(server))["budgets"]

    assert [outcome["isError"] for outcome in outcomes] == [False, False, True]
    assert outcomes[2]["structuredContent"]["code"] == "BudgetExceeded"
    assert budget == {"name": "all", "period": "month", "limitUsd": 0.00105, "leftUsd": 0.00084}


def test_usage_is_saved_soon_and_old_usage_is_deleted(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    """Another process reads the usage, while the server runs and after it was killed."""

    def count_calls() -> dict[str, Any]:
        result = subprocess.run(
            junto_command("usage", "--json", "--by", "tool", "--since", "2000-01-01"),
            env=environment(tmp_path, upstream),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        )
        lines: list[dict[str, Any]] = json.loads(result.stdout)["by"]["tool"]
        return {line["tool"]: line["calls"] for line in lines}

    asyncio.run(
        _add_usage(tmp_path, UsageKey(1_000_000_000, "local", "ancient"), UsageTotals(calls=1))
    )
    assert count_calls() == {"ancient": 1}

    with stdio_server(junto_command("mcp"), environment(tmp_path, upstream), tmp_path) as server:
        called(server, "current_time")
        wait_until(lambda: count_calls() == {"current_time": 1})
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()

    assert count_calls() == {"current_time": 1}


async def _add_usage(home: Path, key: UsageKey, totals: UsageTotals) -> None:
    async with AsyncExitStack() as stack:
        path = home / "data" / "junto" / "junto.db"
        await SqliteUsage(Lazy(lambda: SqliteDatabase.open(path), stack)).add({key: totals})
