"""Work that is finished whatever happens to its starter, and work that ends with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):  # noqa: N818 - nothing is wrong
    """Somebody wanted it to end before it was done."""


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


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do `work` beside the block, and stop it with the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work`, and give it up when `stop` comes before its end.

    Raises:
        Stopped: it was given up.
    """
    task, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Stopped
    finally:
        for each in (task, stopping):
            each.cancel()
        await asyncio.gather(task, stopping, return_exceptions=True)


async def surely(work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work`; being cancelled ends the waiting, not the work."""
    return await asyncio.shield(begun(work))
