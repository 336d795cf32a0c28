"""Asyncio tasks that survive the cancellation of their caller, or that end with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):  # noqa: N818 - not an error
    """The coroutine was stopped before it completed."""


# The event loop keeps only weak references to tasks, so they could be garbage-collected.
_running_tasks: set["asyncio.Task[Any]"] = set()


def spawn(coro: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start `coro` as a task that is independent of its caller."""
    task = asyncio.ensure_future(coro)
    _running_tasks.add(task)
    task.add_done_callback(_running_tasks.discard)
    return task


async def run_to_completion(coro: Coroutine[Any, Any, T]) -> T:
    """Run `coro` to its end, ignoring cancellation of the caller."""
    task = spawn(coro)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


@contextlib.asynccontextmanager
async def background_task(coro: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `coro` in the background and cancel it at the end of the block."""
    task = asyncio.create_task(coro)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def run_until(stop: asyncio.Event, coro: Coroutine[Any, Any, T]) -> T:
    """Run `coro`, and cancel it if `stop` is set before it completes.

    Raises:
        Stopped: `stop` was set first.
    """
    task, stop_task = asyncio.ensure_future(coro), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stop_task}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Stopped
    finally:
        for each in (task, stop_task):
            each.cancel()
        await asyncio.gather(task, stop_task, return_exceptions=True)


async def run_shielded(coro: Coroutine[Any, Any, T]) -> T:
    """Run `coro`; cancelling the caller stops waiting, not `coro`."""
    return await asyncio.shield(spawn(coro))
