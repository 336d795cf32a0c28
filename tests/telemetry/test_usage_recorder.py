"""Recording usage, flushing it to the store, and reporting it."""

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

from junto.domain.completions import Usage
from junto.domain.errors import InputOutputError, InvalidInputError
from junto.domain.limits import BudgetAccount
from junto.domain.usage import RequestOrigin, UsageDimension, UsageKey, UsageTotals
from junto.runtime.lazy import Lazy
from junto.storage.budget_ledger import BudgetLedger
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.usage import SqliteBudgetAccounts, SqliteUsage
from junto.telemetry.usage_recorder import UsageRecorder
from junto.telemetry.usage_reports import GroupBy, UsageReports, parse_window_start
from tests.event_loop import yield_to_tasks

ME = RequestOrigin("me", "chat")


@pytest.fixture
def tokyo_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the local time zone to nine hours ahead of UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


class FailingStore(SqliteUsage):
    """A store that cannot write until `broken` is cleared."""

    broken = True

    @override
    async def add(self, totals: Mapping[UsageKey, UsageTotals]) -> None:
        if FailingStore.broken:
            raise InputOutputError("The disk is full.")
        await super().add(totals)


async def test_a_failed_flush_is_retried_with_the_next_one() -> None:
    async with AsyncExitStack() as stack:
        store = FailingStore(Lazy(lambda: SqliteDatabase.open(None), stack))
        recorder = UsageRecorder(store, now=lambda: 1000.0)
        recorder.record_tool_call(ME)
        await recorder.flush()
        recorder.record_tool_call(ME, failed=True)
        assert recorder.pending.is_set()

        FailingStore.broken = False
        await recorder.flush()
        await recorder.flush()

        assert not recorder.pending.is_set()
        assert await store.load_totals((), 0, 9999) == {(): UsageTotals(calls=2, failures=1)}


async def test_a_row_that_the_store_rejects_is_skipped() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazy(lambda: SqliteDatabase.open(None), stack))
        recorder = UsageRecorder(store, now=lambda: 1000.0)
        recorder.record_model_call(
            ME, ("maker", "odd"), Usage(input_tokens=10**30), None, answered=True
        )
        await recorder.flush()
        recorder.record_tool_call(ME)
        await recorder.flush()

        assert await store.load_totals((), 0, 9999) == {(): UsageTotals(calls=1)}


async def test_concurrent_flushes_wait_until_everything_is_written() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazy(lambda: SqliteDatabase.open(None), stack))
        recorder = UsageRecorder(store, now=lambda: 1000.0)

        async def flush_and_count() -> int:
            await recorder.flush()
            return (await store.load_totals((), 0, 9999))[()].calls

        recorder.record_tool_call(ME)
        first_flush = asyncio.ensure_future(recorder.flush())
        await yield_to_tasks()
        recorder.record_tool_call(ME)

        first, second = await asyncio.gather(flush_and_count(), flush_and_count())
        assert (first, second) == (2, 2)
        await first_flush


async def test_a_recorder_without_a_store_records_nothing() -> None:
    recorder = UsageRecorder()

    recorder.record_tool_call(ME)
    await recorder.flush()

    assert not recorder.pending.is_set()


async def test_days_follow_the_local_calendar(tokyo_time: None) -> None:  # noqa: ARG001
    now = datetime.fromisoformat("2026-11-16T09:00:00+09:00").timestamp()
    timestamps = ["2026-11-13T14:59:00+00:00", "2026-11-13T15:01:00+00:00", "2026-11-15T16:00:00Z"]
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazy(lambda: SqliteDatabase.open(None), stack))
        accounts = SqliteBudgetAccounts(Lazy(lambda: SqliteDatabase.open(None), stack))
        clock = [now]
        recorder = UsageRecorder(store, now=lambda: clock[0])
        reports = UsageReports(store, recorder, BudgetLedger(accounts), (), now=lambda: now)
        for timestamp in timestamps:
            clock[0] = datetime.fromisoformat(timestamp).timestamp()
            recorder.record_tool_call(ME)

        lines = await reports.group_usage(GroupBy.DAY, parse_window_start("7d", now))

    found = {line.name: line.totals.calls for line in lines}
    assert found == {"2026-11-13": 1, "2026-11-14": 1, "2026-11-15": 0, "2026-11-16": 1}
    assert list(found) == sorted(found)


async def test_the_most_expensive_model_comes_first_and_budgets_show_their_balance() -> None:
    async with AsyncExitStack() as stack:
        database = Lazy(lambda: SqliteDatabase.open(None), stack)
        store, ledger = SqliteUsage(database), BudgetLedger(SqliteBudgetAccounts(database))
        recorder, account = UsageRecorder(store), BudgetAccount("all", Decimal(5))
        reports = UsageReports(store, recorder, ledger, (account,))
        for model, dollars in (("small", "0.5"), ("large", "2"), ("free", "0")):
            usage = Usage(input_tokens=10, output_tokens=1)
            recorder.record_model_call(ME, ("maker", model), usage, Decimal(dollars), answered=True)
        recorder.record_model_call(ME, ("maker", "odd"), Usage(), None, answered=False)
        await ledger.reserve(account, Decimal("1.25"))

        lines = await reports.group_usage(GroupBy.MODEL, 0)
        (budget,) = await reports.list_budgets()
        total = await reports.get_total(0)

        assert [line.name for line in lines] == ["large", "small", "free", "odd"]
        assert (budget.spent, budget.balance) == (Decimal("1.25"), Decimal("3.75"))
        assert (total.cost, total.unpriced, total.unanswered) == (Decimal("2.5"), 1, 1)
        assert await reports.group_usage(GroupBy.TOOL, 0, "somebody else") == ()


def test_window_starts_are_parsed_from_durations_and_dates(tokyo_time: None) -> None:  # noqa: ARG001
    now = datetime.fromisoformat("2026-11-16T09:30:00+09:00").timestamp()

    assert parse_window_start("24h", now) == now - 86_400
    assert parse_window_start("4w", now) == now - 28 * 86_400
    assert parse_window_start("today", now) == now - 9.5 * 3600
    assert parse_window_start("2026-11-15", now) == now - 33.5 * 3600


@given(st.text(max_size=12).filter(lambda text: not any(c.isdigit() for c in text)))
@example("0x7d")
@example("7 d")
@example("99999999d")
@example("2026-02-30")
def test_an_invalid_window_is_refused_with_an_example(text: str) -> None:
    assume(text != "today")

    with pytest.raises(InvalidInputError, match="such as 24h"):
        parse_window_start(text, 1_794_000_000.0)


def test_usage_dimensions_are_the_fields_of_a_usage_key() -> None:
    assert [each.name.lower() for each in UsageDimension] == list(UsageKey.__dataclass_fields__)


async def test_a_cancelled_flush_loses_nothing() -> None:
    release = asyncio.Event()

    class SlowStore(SqliteUsage):
        @override
        async def add(self, totals: Mapping[UsageKey, UsageTotals]) -> None:
            await release.wait()
            await super().add(totals)

    async with AsyncExitStack() as stack:
        store = SlowStore(Lazy(lambda: SqliteDatabase.open(None), stack))
        recorder = UsageRecorder(store, now=lambda: 1000.0)
        recorder.record_tool_call(ME)
        task = asyncio.ensure_future(recorder.flush())
        await yield_to_tasks(2)
        task.cancel()
        await asyncio.wait([task])
        recorder.record_tool_call(ME)
        release.set()
        await recorder.flush()

        assert await store.load_totals((), 0, 9999) == {(): UsageTotals(calls=2)}


async def test_the_first_bucket_of_a_window_counts_completely(tokyo_time: None) -> None:  # noqa: ARG001
    async with AsyncExitStack() as stack:
        store = SqliteUsage(Lazy(lambda: SqliteDatabase.open(None), stack))
        accounts = SqliteBudgetAccounts(Lazy(lambda: SqliteDatabase.open(None), stack))
        clock = [1_794_000_000.0]
        recorder = UsageRecorder(store, now=lambda: clock[0])
        reports = UsageReports(store, recorder, BudgetLedger(accounts), (), now=lambda: clock[0])
        recorder.record_tool_call(ME)
        clock[0] += 3599

        assert (await reports.get_total(parse_window_start("1h", clock[0]))).calls == 1
