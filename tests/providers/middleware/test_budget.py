import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from junto.domain.errors import BudgetExceededError, NetworkError
from junto.domain.limits import Account, Ledger, Period, Reserved
from junto.domain.messages import ToolCall
from junto.domain.prices import Price
from junto.domain.questions import Event, Question, TextDelta, ToolCallMade, Usage
from junto.providers.pipeline.budget import Budgeted
from junto.providers.provider import Provider, ask
from junto.storage.lazily import Lazily
from junto.storage.ledger import KeptLedger
from junto.storage.sqlite.accounts import SqliteAccounts
from junto.storage.sqlite.database import Database
from tests.providers.scripted import OK, QUESTION, Scripted, finished

# A token costs a dollar, so that tokens can be counted in the ledger.
PRICE = Price(input=Decimal(1_000_000), output=Decimal(1_000_000))


@asynccontextmanager
async def opened(today: list[datetime]) -> AsyncIterator[Ledger]:
    async with AsyncExitStack() as stack:
        accounts = SqliteAccounts(Lazily(lambda: Database.opened(None), stack))
        yield KeptLedger(accounts, now=lambda: today[0])


@pytest.fixture
def today() -> list[datetime]:
    return [datetime(2026, 11, 30, 23, tzinfo=UTC)]


@pytest.fixture
async def ledger(today: list[datetime]) -> AsyncIterator[Ledger]:
    async with opened(today) as ledger:
        yield ledger


def budgeted(
    inner: Provider, ledger: Ledger, *accounts: Account, price: Price | None = PRICE
) -> Budgeted:
    return Budgeted(inner, ledger, accounts, price, "m")


async def left(ledger: Ledger, account: Account) -> Decimal:
    outcome = await ledger.reserve(account, account.limit + 1)
    assert isinstance(outcome, Decimal)
    return outcome


def test_cached_tokens_have_prices_of_their_own() -> None:
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


async def test_a_call_costs_what_it_used_and_not_what_was_set_aside(ledger: Ledger) -> None:
    account = Account("me", Decimal(100))

    await ask(budgeted(Scripted([OK]), ledger, account), QUESTION)

    assert await left(ledger, account) == 90  # five tokens in, five out


async def test_nobody_is_asked_who_might_cost_more_than_is_left(ledger: Ledger) -> None:
    scripted = Scripted([OK])
    account = Account("me", Decimal(5), Period.DAY)

    with pytest.raises(BudgetExceededError, match=r"me has 5\.0000 of 5 USD left \(day\)"):
        await ask(budgeted(scripted, ledger, account), QUESTION)

    assert scripted.asked == []
    assert await left(ledger, account) == 5


async def test_an_unknown_price_fails_closed_where_there_is_a_budget(ledger: Ledger) -> None:
    scripted = Scripted([OK])

    with pytest.raises(BudgetExceededError, match="price of m is not known"):
        await ask(budgeted(scripted, ledger, Account("me", Decimal(5)), price=None), QUESTION)

    assert (await ask(budgeted(scripted, ledger, price=None), QUESTION)).message.text == "ok"


async def test_a_failure_before_the_first_word_costs_nothing(ledger: Ledger) -> None:
    account = Account("me", Decimal(100))

    with pytest.raises(NetworkError):
        await ask(budgeted(Scripted([(NetworkError("down"),)]), ledger, account), QUESTION)

    assert await left(ledger, account) == 100


@pytest.mark.parametrize(
    "event", [TextDelta("x" * 40), ToolCallMade(ToolCall("c", "f" * 36, {}))], ids=["text", "call"]
)
async def test_what_broke_off_has_cost_about_what_was_heard(event: Event, ledger: Ledger) -> None:
    account = Account("me", Decimal(100))
    broken = budgeted(Scripted([(event, NetworkError("down"))]), ledger, account)

    with pytest.raises(NetworkError):
        await ask(broken, QUESTION)

    assert 80 <= await left(ledger, account) < 90


async def test_whoever_stops_listening_pays_for_what_was_heard(ledger: Ledger) -> None:
    account = Account("me", Decimal(100))

    async with aclosing(budgeted(Scripted([OK]), ledger, account).stream(QUESTION)) as events:
        await anext(events)

    assert 90 <= await left(ledger, account) < 100


async def test_all_accounts_must_be_able_to_pay_and_none_pays_alone(ledger: Ledger) -> None:
    rich, poor = Account("all", Decimal(1000)), Account("me", Decimal(1))

    with pytest.raises(BudgetExceededError, match="me has"):
        await ask(budgeted(Scripted([OK]), ledger, rich, poor), QUESTION)

    assert await left(ledger, rich) == 1000


async def test_a_budget_begins_anew_with_its_period(ledger: Ledger, today: list[datetime]) -> None:
    accounts = [Account(p.value, Decimal(30), p) for p in Period]

    await ask(budgeted(Scripted([OK]), ledger, *accounts), QUESTION)
    assert [await left(ledger, account) for account in accounts] == [20, 20, 20]
    today[0] = datetime(2026, 12, 1, 1, tzinfo=UTC)

    assert [await left(ledger, account) for account in accounts] == [30, 30, 20]


async def test_a_call_is_paid_from_the_period_in_which_it_began(
    ledger: Ledger, today: list[datetime]
) -> None:
    account = Account("me", Decimal(30), Period.DAY)
    reserved = await ledger.reserve(account, Decimal(20))
    assert isinstance(reserved, Reserved)
    today[0] = datetime(2026, 12, 1, tzinfo=UTC)

    await ledger.settle(reserved, Decimal(15))

    assert await left(ledger, account) == 30


async def test_two_hundred_callers_at_once_never_spend_more_than_there_is(ledger: Ledger) -> None:
    running, most = 0, 0

    class Counting(Provider):
        @override
        async def stream(self, question: Question) -> AsyncGenerator[Event]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            yield finished(tokens=5)

    account = Account("me", Decimal(100))
    provider = budgeted(Counting(), ledger, account)
    outcomes = await asyncio.gather(
        *(ask(provider, QUESTION) for _ in range(200)), return_exceptions=True
    )

    answered = [o for o in outcomes if not isinstance(o, BaseException)]
    assert {type(o) for o in outcomes if isinstance(o, BaseException)} == {BudgetExceededError}
    assert most <= 9  # each sets eleven dollars aside
    assert await left(ledger, account) == 100 - 10 * len(answered)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 60)), max_size=50))
def test_what_is_left_is_never_more_than_what_was_not_spent(calls: list[tuple[int, int]]) -> None:
    async def play() -> None:
        account = Account("me", Decimal(100))
        spent = 0
        async with opened([datetime(2026, 11, 30, tzinfo=UTC)]) as ledger:
            for aside, cost in calls:
                reserved = await ledger.reserve(account, Decimal(aside))
                if isinstance(reserved, Reserved):
                    assert spent + aside <= 100
                    await ledger.settle(reserved, Decimal(cost))
                    spent += cost
            assert await left(ledger, account) == max(0, 100 - spent)
            assert await ledger.spent(account) == spent

    asyncio.run(play())
