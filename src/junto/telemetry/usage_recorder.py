"""Collect usage in memory and write the totals to the store."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from junto.domain.completions import Usage
from junto.domain.errors import JuntoError
from junto.domain.usage import RequestOrigin, UsageKey, UsageStore, UsageTotals
from junto.telemetry.logs import Log

_log = Log.get("usage")

# In every time zone, days begin at a multiple of 15 minutes UTC.
BUCKET_SECONDS = 900
# Bounds memory while the store is unavailable; further new keys are dropped.
_MAX_PENDING_TOTALS = 10_000


@dataclass(eq=False, slots=True)
class UsageRecorder:
    """A recorder of usage; without a store, it records nothing."""

    store: UsageStore | None = None
    now: Callable[[], float] = time.time
    # Set while there are totals to write.
    pending: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _totals: dict[UsageKey, UsageTotals] = field(default_factory=dict, init=False)
    _write_task: "asyncio.Future[None] | None" = field(default=None, init=False)
    # Whether the last write failed.
    is_failing: bool = field(default=False, init=False)

    def record_tool_call(self, origin: RequestOrigin, *, failed: bool = False) -> None:
        """Record one tool call."""
        self._add(origin, "", "", UsageTotals(calls=1, failures=int(failed)))

    def record_model_call(
        self,
        origin: RequestOrigin,
        model: tuple[str, str],
        usage: Usage,
        cost: Decimal | None,
        *,
        answered: bool,
    ) -> None:
        """Record one request to a model, given as `(provider, model)`."""
        totals = UsageTotals(
            questions=1,
            unanswered=int(not answered),
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=cost or Decimal(0),
            unpriced=int(cost is None),
        )
        self._add(origin, *model, totals)

    async def flush(self) -> None:
        """Write the recorded totals; those that cannot be written are kept for the next time.

        Cancelling the caller does not cancel the write, whose outcome would then be unknown.
        """
        while self._write_task and not self._write_task.done():
            await asyncio.shield(self._write_task)
        if self.store and self._totals:
            totals, self._totals = self._totals, {}
            self.pending.clear()
            self._write_task = asyncio.ensure_future(self._write(self.store, totals))
            await asyncio.shield(self._write_task)

    async def _write(self, store: UsageStore, totals: dict[UsageKey, UsageTotals]) -> None:
        try:
            await store.add(totals)
            self.is_failing = False
        except JuntoError as error:
            for key, added in totals.items():
                self._merge(key, added)
            if not self.is_failing:
                _log.warning("usage not written down", reason=error.message)
            self.is_failing = True
        except Exception as error:  # noqa: BLE001 - retrying would fail again, so drop the totals
            _log.exception("usage lost", error)

    def _add(self, origin: RequestOrigin, provider: str, model: str, totals: UsageTotals) -> None:
        if self.store:
            bucket_start = int(self.now()) // BUCKET_SECONDS * BUCKET_SECONDS
            self._merge(UsageKey(bucket_start, origin.caller, origin.tool, model, provider), totals)

    def _merge(self, key: UsageKey, totals: UsageTotals) -> None:
        current = self._totals.get(key)
        if current is None and len(self._totals) >= _MAX_PENDING_TOTALS:
            return
        self._totals[key] = current + totals if current else totals
        self.pending.set()
