"""What is noted and written down of what is used."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from typing_extensions import override

from junto.domain.errors import InputOutputError, InvalidInputError
from junto.domain.limits import Account
from junto.domain.questions import Usage
from junto.domain.usage import Amount, Dimension, Heading, Origin
from junto.storage.lazily import Lazily
from junto.storage.ledger import KeptLedger
from junto.storage.sqlite.accounts import SqliteAccounts
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.usage import SqliteUsage
from junto.telemetry.reports import By, UsageReports, beginning
from junto.telemetry.usage import UsageBook

ME = Origin("me", "chat")


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the local calendar be nine hours ahead."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


class Failing(SqliteUsage):
    """A store that cannot write for a while."""

    broken = True

    @override
    async def add(self, sums: Mapping[Heading, Amount]) -> None:
        if Failing.broken:
            raise InputOutputError("The disk is full.")
        await super().add(sums)


async def test_what_cannot_be_written_is_kept_for_the_next_time() -> None:
    async with AsyncExitStack() as stack:
        store = Failing(Lazily(lambda: Database.opened(None), stack))
        book = UsageBook(store, now=lambda: 1000.0)
        book.tool_called(ME)
        await book.flush()
        book.tool_called(ME, failed=True)
        assert book.noted.is_set()

        Failing.broken = False
        await book.flush()
        await book.flush()

        assert not book.noted.is_set()
        assert await store.sums((), 0, 9999) == {(): Amount(calls=2, failures=1)}


async def test_what_no_store_can_take_costs_nothing_but_itself() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazily(lambda: Database.opened(None), stack))
        book = UsageBook(store, now=lambda: 1000.0)
        book.model_asked(ME, ("maker", "odd"), Usage(input_tokens=10**30), None, answered=True)
        await book.flush()
        book.tool_called(ME)
        await book.flush()

        assert await store.sums((), 0, 9999) == {(): Amount(calls=1)}


async def test_two_who_flush_at_once_both_wait_for_all_of_it() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazily(lambda: Database.opened(None), stack))
        book = UsageBook(store, now=lambda: 1000.0)

        async def looked() -> int:
            await book.flush()
            return (await store.sums((), 0, 9999))[()].calls

        book.tool_called(ME)
        writing = asyncio.ensure_future(book.flush())
        await asyncio.sleep(0)
        book.tool_called(ME)

        first, second = await asyncio.gather(looked(), looked())
        assert (first, second) == (2, 2)
        await writing


async def test_a_book_without_a_store_notes_nothing() -> None:
    book = UsageBook()

    book.tool_called(ME)
    await book.flush()

    assert not book.noted.is_set()


async def test_days_are_those_of_the_calendar_here(tokyo: None) -> None:  # noqa: ARG001
    now = datetime.fromisoformat("2026-11-16T09:00:00+09:00").timestamp()
    moments = ["2026-11-13T14:59:00+00:00", "2026-11-13T15:01:00+00:00", "2026-11-15T16:00:00Z"]
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazily(lambda: Database.opened(None), stack))
        accounts = SqliteAccounts(Lazily(lambda: Database.opened(None), stack))
        clock = [now]
        book = UsageBook(store, now=lambda: clock[0])
        reports = UsageReports(store, book, KeptLedger(accounts), (), now=lambda: now)
        for moment in moments:
            clock[0] = datetime.fromisoformat(moment).timestamp()
            book.tool_called(ME)

        lines = await reports.lines(By.DAY, beginning("7d", now))

    found = {line.name: line.amount.calls for line in lines}
    assert found == {"2026-11-13": 1, "2026-11-14": 1, "2026-11-15": 0, "2026-11-16": 1}
    assert list(found) == sorted(found)


async def test_the_dearest_comes_first_and_budgets_tell_what_is_left() -> None:
    async with AsyncExitStack() as stack:
        database = Lazily(lambda: Database.opened(None), stack)
        store, ledger = SqliteUsage(database), KeptLedger(SqliteAccounts(database))
        book, account = UsageBook(store), Account("all", Decimal(5))
        reports = UsageReports(store, book, ledger, (account,))
        for model, dollars in (("small", "0.5"), ("large", "2"), ("free", "0")):
            usage = Usage(input_tokens=10, output_tokens=1)
            book.model_asked(ME, ("maker", model), usage, Decimal(dollars), answered=True)
        book.model_asked(ME, ("maker", "odd"), Usage(), None, answered=False)
        await ledger.reserve(account, Decimal("1.25"))

        lines = await reports.lines(By.MODEL, 0)
        (standing,) = await reports.budgets()
        total = await reports.total(0)

        assert [line.name for line in lines] == ["large", "small", "free", "odd"]
        assert (standing.spent, standing.left) == (Decimal("1.25"), Decimal("3.75"))
        assert (total.cost, total.unpriced, total.unanswered) == (Decimal("2.5"), 1, 1)
        assert await reports.lines(By.TOOL, 0, "somebody else") == ()


def test_windows_are_read_as_people_say_them(tokyo: None) -> None:  # noqa: ARG001
    now = datetime.fromisoformat("2026-11-16T09:30:00+09:00").timestamp()

    assert beginning("24h", now) == now - 86_400
    assert beginning("4w", now) == now - 28 * 86_400
    assert beginning("today", now) == now - 9.5 * 3600
    assert beginning("2026-11-15", now) == now - 33.5 * 3600


@given(st.text(max_size=12).filter(lambda text: not any(c.isdigit() for c in text)))
@example("0x7d")
@example("7 d")
@example("99999999d")
@example("2026-02-30")
def test_what_is_no_window_is_refused_in_words(text: str) -> None:
    assume(text != "today")

    with pytest.raises(InvalidInputError, match="such as 24h"):
        beginning(text, 1_794_000_000.0)


def test_dimensions_are_the_parts_of_a_heading() -> None:
    assert list(Dimension) == list(Heading.__dataclass_fields__)


async def test_whoever_stops_waiting_for_a_flush_loses_nothing() -> None:
    let_go = asyncio.Event()

    class Slow(SqliteUsage):
        @override
        async def add(self, sums: Mapping[Heading, Amount]) -> None:
            await let_go.wait()
            await super().add(sums)

    async with AsyncExitStack() as stack:
        store = Slow(Lazily(lambda: Database.opened(None), stack))
        book = UsageBook(store, now=lambda: 1000.0)
        book.tool_called(ME)
        impatient = asyncio.ensure_future(book.flush())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.wait([impatient])
        book.tool_called(ME)
        let_go.set()
        await book.flush()

        assert await store.sums((), 0, 9999) == {(): Amount(calls=2)}


async def test_all_of_the_first_quarter_of_an_hour_counts(tokyo: None) -> None:  # noqa: ARG001
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazily(lambda: Database.opened(None), stack))
        accounts = SqliteAccounts(Lazily(lambda: Database.opened(None), stack))
        clock = [1_794_000_000.0]
        book = UsageBook(store, now=lambda: clock[0])
        reports = UsageReports(store, book, KeptLedger(accounts), (), now=lambda: clock[0])
        book.tool_called(ME)
        clock[0] += 3599

        assert (await reports.total(beginning("1h", clock[0]))).calls == 1
