"""What is used, summed up in memory and written down now and then."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from junto.domain.errors import JuntoError
from junto.domain.questions import Usage
from junto.domain.usage import Amount, Heading, Origin, UsageStore
from junto.telemetry.logs import Log

_log = Log.of("usage")

# Days begin at different times; everywhere they begin at a quarter of an hour.
STRETCH = 900
# As long as nothing can be written, so many sums are kept; names are few, and time goes on.
_MOST = 10_000


@dataclass(eq=False, slots=True)
class UsageBook:
    """Takes note of what is used; without a store, of nothing."""

    store: UsageStore | None = None
    now: Callable[[], float] = time.time
    # Set as long as there is something to write down.
    noted: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _sums: dict[Heading, Amount] = field(default_factory=dict, init=False)
    _writing: "asyncio.Future[None] | None" = field(default=None, init=False)
    # Whether the last time nothing could be written.
    failing: bool = field(default=False, init=False)

    def tool_called(self, origin: Origin, *, failed: bool = False) -> None:
        """Note one call of a tool."""
        self._add(origin, "", "", Amount(calls=1, failures=int(failed)))

    def model_asked(
        self,
        origin: Origin,
        model: tuple[str, str],
        usage: Usage,
        cost: Decimal | None,
        *,
        answered: bool,
    ) -> None:
        """Note one question to a model, which is named by its provider and its id."""
        amount = Amount(
            questions=1,
            unanswered=int(not answered),
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=cost or Decimal(0),
            unpriced=int(cost is None),
        )
        self._add(origin, *model, amount)

    async def flush(self) -> None:
        """Write down what was noted; what cannot be written is kept for the next time.

        Whoever stops waiting does not stop the writing: nobody could tell whether it was done.
        """
        while self._writing and not self._writing.done():
            await asyncio.shield(self._writing)
        if self.store and self._sums:
            sums, self._sums = self._sums, {}
            self.noted.clear()
            self._writing = asyncio.ensure_future(self._write(self.store, sums))
            await asyncio.shield(self._writing)

    async def _write(self, store: UsageStore, sums: dict[Heading, Amount]) -> None:
        try:
            await store.add(sums)
            self.failing = False
        except JuntoError as error:
            for heading, amount in sums.items():
                self._put(heading, amount)
            if not self.failing:
                _log.warning("usage not written down", reason=error.message)
            self.failing = True
        except Exception as error:  # noqa: BLE001 - it would fail again and again: let it go
            _log.crash("usage lost", error)

    def _add(self, origin: Origin, provider: str, model: str, amount: Amount) -> None:
        if self.store:
            begun = int(self.now()) // STRETCH * STRETCH
            self._put(Heading(begun, origin.caller, origin.tool, model, provider), amount)

    def _put(self, heading: Heading, amount: Amount) -> None:
        known = self._sums.get(heading)
        if known is None and len(self._sums) >= _MOST:
            return
        self._sums[heading] = known + amount if known else amount
        self.noted.set()
