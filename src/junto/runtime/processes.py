"""Processes that leave nothing behind, however they and whoever started them end."""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from junto.telemetry.logs import Log
from junto.work.tasks import begun, surely

_log = Log.of("work")

_STOP_SECONDS = 5.0
_KEEPER = Path(__file__).with_name("keeper.py")
# A keeper needs to find nothing; it is told where everything is.
_PATH = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody to be, for a process of root's."""

    uid: int
    gid: int
    groups: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a keeper is to run, and how."""

    command: list[str]
    # An open folder to work in.
    directory: int
    environment: Mapping[str, str]
    limits: Mapping[str, int] = field(default_factory=dict)
    user: User | None = None
    # Where to write how it ended, if anybody wants to know.
    report: int = -1
    # Something to read that is meant for the command alone; it finds it as its descriptor 3.
    secret: int = -1
    # How long it may take to end once it is asked to.
    grace: float = 0.3
    # A folder that is removed after it, should this process not live to do so.
    scratch: str | None = None
    # Whether the kernel, where it can, lets it see only what follows.
    confined: bool = False
    network: bool = True
    readable: list[str] = field(default_factory=list)
    writable: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def kept(
    task: Task, *, spoken_to: bool = False, longest_line: int = 2**16
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a task by a keeper, which ends with the block and leaves nothing of the task."""
    with tempfile.TemporaryFile() as written:
        # Not as arguments: what a command's environment holds is nobody else's to see.
        written.write(json.dumps({**asdict(task), "parent": os.getpid()}).encode())
        written.seek(0)
        fds = {written.fileno(), task.directory, task.report, task.secret} - {-1}
        spawning = begun(
            asyncio.create_subprocess_exec(
                sys.executable, "-E", "-s", "-S", "-B", str(_KEEPER), str(written.fileno()),
                stdin=asyncio.subprocess.PIPE if spoken_to else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=fds,
                limit=longest_line,
                env={"PATH": _PATH},
                cwd="/",
                start_new_session=True,
            )
        )  # fmt: skip
        try:
            # Stopped halfway, asyncio would kill the keeper, and nobody would look after the rest.
            process = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            await surely(_stopped_once_started(spawning))
            raise
    try:
        yield process
    finally:
        await surely(_stopped(process))


async def _stopped_once_started(spawning: "asyncio.Task[asyncio.subprocess.Process]") -> None:
    await _stopped(await spawning)


async def _stopped(process: asyncio.subprocess.Process) -> None:
    """Have the keeper end everything, which it does in a moment; it alone can."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await _gone(process)
    except TimeoutError:
        # It goes on trying, which nobody else could; to kill it would be to let the rest go.
        _log.warning("a process does not end", pid=process.pid)


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Wait for a process; asyncio sees its end only after that of its output."""

    async def discard(stream: asyncio.StreamReader) -> None:
        with contextlib.suppress(RuntimeError):  # somebody else reads it to its end
            while await stream.read(1 << 20):
                pass

    streams = [stream for stream in (process.stdout, process.stderr) if stream]
    await asyncio.gather(process.wait(), *map(discard, streams))
