"""Junto started as a client or a user would, with these settings, and in nobody's way."""

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator

from junto.cli.doctor.findings import Case

_LONGEST_LINE = 64 * 1024 * 1024
_FAREWELL = 4.0
_LAST_WORDS = 300

Process = asyncio.subprocess.Process


@contextlib.asynccontextmanager
async def started(case: Case, *words: str) -> AsyncIterator[Process]:
    """Run `junto` with these words until the end of the block, and leave nothing of it.

    It has the settings of `case`, but keeps its files in a folder that goes with it, asks no
    provider by itself, and logs where it can be heard.
    """
    chosen = ("--config", str(case.config.absolute())) if case.config else ()
    command = [sys.executable, "-P", "-m", "junto", *words, *chosen]
    with tempfile.TemporaryDirectory(prefix="junto-", ignore_cleanup_errors=True) as scratch:
        environment = {
            **os.environ,
            "JUNTO_STATE_DIRECTORY": scratch,
            "JUNTO_PROVIDERS_REFRESH": "0",
            "JUNTO_LOGGING_OUTPUT": "stderr",
        }
        if case.settings.database.url:  # which is not in the folder, and is not to be changed
            environment["JUNTO_USAGE_ENABLED"] = "false"
        async with _kept(command, environment, scratch) as process:
            yield process


@contextlib.asynccontextmanager
async def _kept(
    command: list[str], environment: dict[str, str], scratch: str
) -> AsyncIterator[Process]:
    from junto.work.processes import Task, kept

    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    task = Task(
        command=command,
        directory=folder,
        environment=environment,
        grace=_FAREWELL,
        scratch=scratch,
    )
    try:
        async with kept(task, spoken_to=True, longest_line=_LONGEST_LINE) as process:
            yield process
    finally:
        os.close(folder)


async def last_words(process: Process) -> str:
    """Return the end of what a process says on standard error."""
    if process.stderr is None:
        return ""
    said = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1):
            while piece := await process.stderr.read(1 << 16):
                said = (said + piece)[-(1 << 16) :]
    return worded(said)


def worded(said: bytes) -> str:
    """Return the last line of what was said, as far as it fits into a sentence of ours."""
    lines = said.decode(errors="replace").strip().splitlines() or [""]
    line = lines[-1].removeprefix("junto: ")
    return line if len(line) <= _LAST_WORDS else f"{line[:_LAST_WORDS]}…"
