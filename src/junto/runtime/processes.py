"""Run commands under a supervisor process that always cleans up their descendants."""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from junto.runtime.tasks import run_shielded, spawn
from junto.telemetry.logs import Log

_log = Log.get("work")

_STOP_TIMEOUT_SECONDS = 5.0
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
# The supervisor gets only absolute paths; this PATH is a harmless minimum.
_SEARCH_PATH = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class ProcessUser:
    """The user that a process started by root switches to."""

    uid: int
    gid: int
    groups: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """What the supervisor runs, and how."""

    command: list[str]
    # Descriptor of the working directory.
    directory: int
    environment: Mapping[str, str]
    # Limits of each process, by their name in the module `resource`.
    limits: Mapping[str, int] = field(default_factory=dict)
    # Limits of the command and its descendants together; 0 means none. With one process, it cannot
    # start any other program; if that is required, it does not run where the kernel cannot do so.
    max_processes: int = 0
    max_memory_bytes: int = 0
    max_scratch_bytes: int = 0
    spawn_filter_required: bool = False
    user: ProcessUser | None = None
    # Descriptor to which the exit status is written as JSON, or -1.
    report: int = -1
    # Descriptor that only the command may read, passed to it as descriptor 3, or -1.
    secret: int = -1
    # Seconds between SIGTERM and SIGKILL.
    grace: float = 0.3
    # Directory that the supervisor removes if this process is gone by then.
    scratch: str | None = None
    # Whether to apply the sandbox, as far as the kernel supports it, with the options below.
    confined: bool = False
    network: bool = True
    readable: list[str] = field(default_factory=list)
    writable: list[str] = field(default_factory=list)
    # The device and inode of those that must still be the ones that this process opened.
    pinned: Mapping[str, list[int]] = field(default_factory=dict)
    # Whether other paths than these do not exist for it; otherwise they cannot be opened.
    hide_rest: bool = False


@contextlib.asynccontextmanager
async def run_supervised(
    spec: ProcessSpec, *, pipe_stdin: bool = False, max_line_bytes: int = 2**16
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a command under a supervisor, which stops it and its descendants after the block."""
    with tempfile.TemporaryFile() as spec_file:
        # Not passed as arguments, because other users could read the environment there.
        spec_file.write(json.dumps({**asdict(spec), "parent": os.getpid()}).encode())
        spec_file.seek(0)
        fds = {spec_file.fileno(), spec.directory, spec.report, spec.secret} - {-1}
        spawn_task = spawn(
            asyncio.create_subprocess_exec(
                sys.executable, "-E", "-s", "-S", "-B", str(_SUPERVISOR), str(spec_file.fileno()),
                stdin=asyncio.subprocess.PIPE if pipe_stdin else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=fds,
                limit=max_line_bytes,
                env={"PATH": _SEARCH_PATH},
                cwd="/",
                start_new_session=True,
            )
        )  # fmt: skip
        try:
            # If cancelled here, asyncio would kill the supervisor and orphan the command.
            process = await asyncio.shield(spawn_task)
        except asyncio.CancelledError:
            await run_shielded(_stop_after_start(spawn_task))
            raise
    try:
        yield process
    finally:
        await run_shielded(_stop(process))


async def _stop_after_start(spawn_task: "asyncio.Task[asyncio.subprocess.Process]") -> None:
    await _stop(await spawn_task)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Ask the supervisor to stop the command and its descendants, and wait for it."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_TIMEOUT_SECONDS):
            await _wait_for_exit(process)
    except TimeoutError:
        # Do not kill the supervisor: it keeps trying, and without it the descendants would survive.
        _log.warning("a process does not end", pid=process.pid)


async def _wait_for_exit(process: asyncio.subprocess.Process) -> None:
    """Wait for a process; `Process.wait` returns only after its output pipes are closed."""

    async def discard(stream: asyncio.StreamReader) -> None:
        with contextlib.suppress(RuntimeError):  # another reader is draining it
            while await stream.read(1 << 20):
                pass

    streams = [stream for stream in (process.stdout, process.stderr) if stream]
    await asyncio.gather(process.wait(), *map(discard, streams))
