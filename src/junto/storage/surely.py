"""Work that is finished even if whoever waits for it is stopped."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# A task that nobody holds may vanish before it is done.
_unfinished: set["asyncio.Task[Any]"] = set()


def begun(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start `work`, which goes on whatever happens to its starter."""
    task = asyncio.ensure_future(work)
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)
    return task


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work` to its end; being cancelled meanwhile comes too late and changes nothing."""
    task = begun(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


async def surely(work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work`; being cancelled ends the waiting, not the work."""
    return await asyncio.shield(begun(work))
