import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from junto.domain.completions import Event, Question, TextDelta, ToolCallEvent, Usage
from junto.domain.errors import BudgetExceededError, NetworkError
from junto.domain.limits import BudgetAccount, BudgetReservation, Ledger, Period
from junto.domain.messages import ToolCall
from junto.domain.models import Price
from junto.providers.middleware.budget import Budgeted
from junto.providers.provider import Provider, ask
from junto.runtime.lazy import Lazy
from junto.storage.budget_ledger import BudgetLedger
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.usage import SqliteBudgetAccounts
from tests.event_loop import yield_to_tasks
from tests.providers.scripted_provider import OK, QUESTION, ScriptedProvider, build_answer_event

# A token costs a dollar, so that amounts in the ledger equal token counts.
PRICE = Price(input=Decimal(1_000_000), output=Decimal(1_000_000))


@asynccontextmanager
async def open_ledger(today: list[datetime]) -> AsyncIterator[Ledger]:
    async with AsyncExitStack() as stack:
        accounts = SqliteBudgetAccounts(Lazy(lambda: SqliteDatabase.open(None), stack))
        yield BudgetLedger(accounts, now=lambda: today[0])


@pytest.fixture
def today() -> list[datetime]:
    return [datetime(2026, 11, 30, 23, tzinfo=UTC)]


@pytest.fixture
async def ledger(today: list[datetime]) -> AsyncIterator[Ledger]:
    async with open_ledger(today) as ledger:
        yield ledger


def build_budgeted(
    inner: Provider, ledger: Ledger, *accounts: BudgetAccount, price: Price | None = PRICE
) -> Budgeted:
    return Budgeted(inner, ledger, accounts, price, "m")


async def read_remaining(ledger: Ledger, account: BudgetAccount) -> Decimal:
    outcome = await ledger.reserve(account, account.limit + 1)
    assert isinstance(outcome, Decimal)
    return outcome


def test_cached_tokens_have_their_own_prices() -> None:
    price = Price(
        input=Decimal(2), output=Decimal(10), cache_read=Decimal("0.1"), cache_write=Decimal("2.5")
    )
    usage = Usage(
        input_tokens=1_000_000,
        cache_read_tokens=600_000,
        cache_write_tokens=200_000,
        output_tokens=100_000,
    )

    assert price.cost(usage) == Decimal("0.4") + Decimal("0.06") + Decimal("0.5") + Decimal(1)
    assert PRICE.cost(Usage(input_tokens=5, cache_read_tokens=5, output_tokens=2)) == 7


async def test_a_call_costs_what_it_used_not_what_was_reserved(ledger: Ledger) -> None:
    account = BudgetAccount("me", Decimal(100))

    await ask(build_budgeted(ScriptedProvider([OK]), ledger, account), QUESTION)

    assert await read_remaining(ledger, account) == 90  # five tokens in, five out


async def test_a_call_that_could_exceed_the_budget_is_not_sent(ledger: Ledger) -> None:
    scripted = ScriptedProvider([OK])
    account = BudgetAccount("me", Decimal(5), Period.DAY)

    with pytest.raises(BudgetExceededError, match=r"me has 5\.0000 of 5 USD left \(day\)"):
        await ask(build_budgeted(scripted, ledger, account), QUESTION)

    assert scripted.asked == []
    assert await read_remaining(ledger, account) == 5


async def test_an_unknown_price_is_refused_if_there_is_a_budget(ledger: Ledger) -> None:
    scripted = ScriptedProvider([OK])

    with pytest.raises(BudgetExceededError, match="price of m is not known"):
        await ask(
            build_budgeted(scripted, ledger, BudgetAccount("me", Decimal(5)), price=None), QUESTION
        )

    assert (await ask(build_budgeted(scripted, ledger, price=None), QUESTION)).message.text == "ok"


async def test_a_failure_before_the_first_event_costs_nothing(ledger: Ledger) -> None:
    account = BudgetAccount("me", Decimal(100))

    with pytest.raises(NetworkError):
        await ask(
            build_budgeted(ScriptedProvider([(NetworkError("down"),)]), ledger, account), QUESTION
        )

    assert await read_remaining(ledger, account) == 100


@pytest.mark.parametrize(
    "event", [TextDelta("x" * 40), ToolCallEvent(ToolCall("c", "f" * 36, {}))], ids=["text", "call"]
)
async def test_an_interrupted_answer_costs_about_what_was_received(
    event: Event, ledger: Ledger
) -> None:
    account = BudgetAccount("me", Decimal(100))
    provider = build_budgeted(ScriptedProvider([(event, NetworkError("down"))]), ledger, account)

    with pytest.raises(NetworkError):
        await ask(provider, QUESTION)

    assert 80 <= await read_remaining(ledger, account) < 90


async def test_a_stream_closed_early_costs_what_was_received(ledger: Ledger) -> None:
    account = BudgetAccount("me", Decimal(100))

    async with aclosing(
        build_budgeted(ScriptedProvider([OK]), ledger, account).stream(QUESTION)
    ) as events:
        await anext(events)

    assert 90 <= await read_remaining(ledger, account) < 100


async def test_if_one_account_cannot_pay_none_is_charged(ledger: Ledger) -> None:
    rich, poor = BudgetAccount("all", Decimal(1000)), BudgetAccount("me", Decimal(1))

    with pytest.raises(BudgetExceededError, match="me has"):
        await ask(build_budgeted(ScriptedProvider([OK]), ledger, rich, poor), QUESTION)

    assert await read_remaining(ledger, rich) == 1000


async def test_a_budget_resets_with_its_period(ledger: Ledger, today: list[datetime]) -> None:
    accounts = [BudgetAccount(p.value, Decimal(30), p) for p in Period]

    await ask(build_budgeted(ScriptedProvider([OK]), ledger, *accounts), QUESTION)
    assert [await read_remaining(ledger, account) for account in accounts] == [20, 20, 20]
    today[0] = datetime(2026, 12, 1, 1, tzinfo=UTC)

    assert [await read_remaining(ledger, account) for account in accounts] == [30, 30, 20]


async def test_a_call_is_charged_to_the_period_in_which_it_started(
    ledger: Ledger, today: list[datetime]
) -> None:
    account = BudgetAccount("me", Decimal(30), Period.DAY)
    reservation = await ledger.reserve(account, Decimal(20))
    assert isinstance(reservation, BudgetReservation)
    today[0] = datetime(2026, 12, 1, tzinfo=UTC)

    await ledger.settle(reservation, Decimal(15))

    assert await read_remaining(ledger, account) == 30


async def test_two_hundred_concurrent_calls_never_exceed_the_budget(ledger: Ledger) -> None:
    active, max_active = 0, 0

    class CountingProvider(Provider):
        @override
        async def stream(self, question: Question) -> AsyncGenerator[Event]:
            nonlocal active, max_active
            active += 1
            max_active = max(max_active, active)
            await yield_to_tasks()
            active -= 1
            yield build_answer_event(tokens=5)

    account = BudgetAccount("me", Decimal(100))
    provider = build_budgeted(CountingProvider(), ledger, account)
    outcomes = await asyncio.gather(
        *(ask(provider, QUESTION) for _ in range(200)), return_exceptions=True
    )

    answers = [o for o in outcomes if not isinstance(o, BaseException)]
    assert {type(o) for o in outcomes if isinstance(o, BaseException)} == {BudgetExceededError}
    assert max_active <= 9  # each call reserves eleven dollars
    assert await read_remaining(ledger, account) == 100 - 10 * len(answers)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 60)), max_size=50))
def test_the_remaining_budget_is_the_limit_minus_what_was_spent(
    calls: list[tuple[int, int]],
) -> None:
    async def run_calls() -> None:
        account = BudgetAccount("me", Decimal(100))
        spent = 0
        async with open_ledger([datetime(2026, 11, 30, tzinfo=UTC)]) as ledger:
            for amount, cost in calls:
                reservation = await ledger.reserve(account, Decimal(amount))
                if isinstance(reservation, BudgetReservation):
                    assert spent + amount <= 100
                    await ledger.settle(reservation, Decimal(cost))
                    spent += cost
            assert await read_remaining(ledger, account) == max(0, 100 - spent)
            assert await ledger.read_spent(account) == spent

    asyncio.run(run_calls())
