"""Budgets hold for runs of Claude Code as they do for questions to models."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path

import pytest

from junto.agent.options import RunOptions
from junto.agent.run_budget import MIN_RUN_USD, RunBudget
from junto.agent.run_state import RunState
from junto.domain.completions import Usage
from junto.domain.errors import BudgetExceededError
from junto.domain.limits import Budget, BudgetAccount
from junto.domain.models import Price
from junto.runtime.lazy import Lazy
from junto.settings.enums import PermissionMode
from junto.storage.budget_ledger import BudgetLedger
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.usage import SqliteBudgetAccounts
from tests.agent.claude_code_server import (
    call_for_content,
    call_tool,
    run_agent,
    say,
    stdio_client,
    steps,
)
from tests.clients import Json
from tests.fake_model_server import fake_model_server

PRICE = Price(input=Decimal(1_000_000), output=Decimal(1_000_000))
OPTIONS = RunOptions(cwd=".", permission_mode=PermissionMode.DEFAULT)


@pytest.fixture
async def budget() -> AsyncIterator[Budget]:
    async with AsyncExitStack() as stack:
        accounts = SqliteBudgetAccounts(Lazy(lambda: SqliteDatabase.open(None), stack))
        yield Budget(BudgetLedger(accounts), (BudgetAccount("all", Decimal(10)),))


def build_run_budget(budget: Budget, price: Price | None = PRICE) -> RunBudget:
    return RunBudget(budget, lambda _model: price)


def test_a_run_is_refused_without_budget_and_counted_with_one(tmp_path: Path) -> None:
    with fake_model_server() as upstream:
        with stdio_client(tmp_path, upstream, JUNTO_BUDGET_LIMIT="0.000001") as client:
            refused = call_tool(client, "claude_code_query", prompt=steps(say("hi")))
            asked = len(upstream.bodies)
        with stdio_client(tmp_path, upstream, JUNTO_BUDGET_LIMIT="5") as client:
            done = run_agent(client, steps(say("hi")))
            [budget] = call_for_content(client, "usage")["budgets"]
            too_much = run_agent(client, steps(say("hi")), options={"maxBudgetUsd": 6})

    assert refused["isError"]
    assert refused["structuredContent"]["code"] == "BudgetExceeded"
    assert asked == 0
    assert done["usage"]["costUsd"] > 0
    assert budget["leftUsd"] == pytest.approx(5 - done["usage"]["costUsd"], abs=1e-6)
    assert too_much["code"] == "BudgetExceeded"


async def test_runs_at_the_same_time_never_reserve_the_same_money(budget: Budget) -> None:
    run_budget = build_run_budget(budget)

    first = await run_budget.reserve(6)
    with pytest.raises(BudgetExceededError, match="smaller maxBudgetUsd"):
        await run_budget.reserve(6)
    await run_budget.settle(first, 1.5, {})

    assert await budget.read_left() == Decimal("8.5")


async def test_a_run_without_a_cap_stops_at_what_is_left(budget: Budget) -> None:
    run_budget = build_run_budget(budget)
    await run_budget.settle(await run_budget.reserve(4), 4, {})

    run = await run_budget.reserve(None)

    assert run.limit_options(OPTIONS).max_budget_usd == 6
    assert await budget.read_left() == 0


async def test_a_run_is_refused_when_less_than_its_first_turn_is_left(budget: Budget) -> None:
    run_budget = build_run_budget(budget)
    await run_budget.settle(await run_budget.reserve(10), 9.95, {})

    with pytest.raises(BudgetExceededError, match=f"at least {MIN_RUN_USD} USD"):
        await run_budget.reserve(None)


async def test_a_killed_run_costs_the_answers_that_it_got(budget: Budget) -> None:
    run_budget = build_run_budget(budget)

    await run_budget.settle(
        await run_budget.reserve(None), None, {"claude": Usage(input_tokens=1, output_tokens=2)}
    )

    assert await budget.read_left() == 7


async def test_a_killed_run_of_unknown_price_costs_all_that_it_could(budget: Budget) -> None:
    run_budget = build_run_budget(budget, price=None)

    await run_budget.settle(await run_budget.reserve(3), None, {"new": Usage(output_tokens=2)})

    assert await budget.read_left() == 7


async def test_without_a_budget_every_run_is_allowed(budget: Budget) -> None:
    run = await build_run_budget(Budget(budget.ledger, ())).reserve(None)

    assert run.limit_options(OPTIONS) == OPTIONS


def test_an_answer_that_is_reported_block_by_block_is_counted_once() -> None:
    state = RunState(10, include_system=True, redact=str)
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}

    for id_ in ("a", "a", "b"):
        answer: Json = {"id": id_, "model": "m", "usage": usage, "content": []}
        state.receive({"type": "assistant", "message": answer})

    assert state.usage_by_model == {
        "m": Usage(input_tokens=14, cache_read_tokens=8, output_tokens=10)
    }
