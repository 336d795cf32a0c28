"""Waiting in the event loop of a test."""

import asyncio
import inspect
import time
from collections.abc import Callable

_POLL_SECONDS = 0.01


async def yield_to_tasks(times: int = 1) -> None:
    """Let the other tasks of the event loop run, `times` steps each."""
    for _ in range(times):
        await asyncio.sleep(0)


async def poll_until(
    condition: Callable[[], object],
    timeout: float = 45.0,  # noqa: ASYNC109 - reported by an assertion
) -> None:
    """Wait until `condition`, which may be a coroutine function, returns something true."""
    end = time.monotonic() + timeout
    while not await _evaluate(condition):
        assert time.monotonic() < end, f"the condition was not met in {timeout:.0f} s"
        await asyncio.sleep(_POLL_SECONDS)


async def _evaluate(condition: Callable[[], object]) -> object:
    value = condition()
    return await value if inspect.isawaitable(value) else value
